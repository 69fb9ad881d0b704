#!/bin/bash
# run_script.sh SCRIPT PROJECT BUILD WORK: runs a script of examples/ as its reader would: in a folder (WORK) with the
# examples and the project as `flatline`, with Flatline installed from BUILD where pkg-config finds it.
set -euo pipefail
script=$1
project=$2
build=$3
work=$4
rm -rf "$work"
mkdir -p "$work"
cd "$work"
cmake --install "$build" --prefix "$work/prefix" >/dev/null
ln -s "$project" flatline
cp "$project"/examples/*.c "$project"/examples/*.cpp .
export PATH=$work/prefix/bin:$PATH PKG_CONFIG_PATH=$work/prefix/lib/pkgconfig LD_LIBRARY_PATH=$work/prefix/lib CMAKE_GENERATOR=Ninja
"$script"
