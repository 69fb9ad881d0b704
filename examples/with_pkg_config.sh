#!/bin/sh
# Compiles and runs an example against an installed Flatline. PKG_CONFIG_PATH names the lib/pkgconfig of its prefix, and
# LD_LIBRARY_PATH its lib, unless the prefix is one that the system searches.
set -eu

cc -std=c11 pool_first.c $(pkg-config --cflags --libs flatline) -o pool_first
./pool_first
