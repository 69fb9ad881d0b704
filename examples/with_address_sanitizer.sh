#!/bin/sh
# Builds Flatline for AddressSanitizer and requires that a read after free from a pool is caught. `flatline` is the
# project's folder.
set -eu

cmake -S flatline -B checked -DFLATLINE_PROGRAM=OFF -DFLATLINE_EXAMPLES=OFF -DCMAKE_C_FLAGS=-fsanitize=address
cmake --build checked
cc -g -fsanitize=address -Iflatline/include pool_stale_read.c checked/lib/libflatline.a -o stale_read

if ./stale_read 2>report.txt; then exit 1; fi
grep use-after-poison report.txt
