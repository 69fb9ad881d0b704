#!/bin/sh
# Compiles and runs an example with the four memory functions of bare_metal_start.c and no library but libflatline-core.
# PKG_CONFIG_PATH names the lib/pkgconfig of an installed Flatline, unless the system searches there.
set -eu

flags="-std=c11 -O2 -ffreestanding -fno-stack-protector -nostdlib -static"
cc $flags bare_metal.c bare_metal_start.c $(pkg-config --cflags --libs flatline-core) -o bare_metal
./bare_metal
