#!/bin/bash
# install.sh BUILD PREFIX: installs BUILD somewhere else and moves the tree to PREFIX, so that every check of it is also
# a check that nothing remembers where it was first.
set -euo pipefail
build=$1
prefix=$2
rm -rf "$prefix" "$prefix.first"
cmake --install "$build" --prefix "$prefix.first" >/dev/null
mv "$prefix.first" "$prefix"
