#!/bin/bash
# fault.sh PREFIX WORK CHECK FILE: FILE is taken out of a copy of the installed tree, and CHECK must notice.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
prefix=$1
work=$2
check=$3
file=$4
rm -rf "$work"
mkdir -p "$work"
cp -a "$prefix" "$work/prefix"
"$here/installed.sh" "$work/prefix" "$work/with" "$check" >/dev/null 2>&1 || {
    echo "fault.sh: $check fails on the whole tree already" >&2
    exit 1
}
rm "$work/prefix/$file"
if "$here/installed.sh" "$work/prefix" "$work/without" "$check" >/dev/null 2>&1; then
    echo "fault.sh: $check did not notice that $file is missing" >&2
    exit 1
fi
