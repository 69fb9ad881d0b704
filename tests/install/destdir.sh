#!/bin/bash
# destdir.sh BUILD WORK: DESTDIR puts the whole tree below another root, as packagers need it.
set -euo pipefail
build=$1
work=$2
rm -rf "$work"
DESTDIR=$work cmake --install "$build" --prefix /opt/flatline >/dev/null
[ -e "$work/opt/flatline/lib/libflatline.a" ]
[ "$(ls "$work")" = opt ]
