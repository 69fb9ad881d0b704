#!/bin/sh
# Builds Flatline for Valgrind and requires that a read after free from a pool is caught. `flatline` is the project's
# folder.
set -eu

cmake -S flatline -B checked -DFLATLINE_PROGRAM=OFF -DFLATLINE_EXAMPLES=OFF -DFLATLINE_VALGRIND=ON
cmake --build checked
cc -g -Iflatline/include pool_stale_read.c checked/lib/libflatline.a -o stale_read

if valgrind --error-exitcode=9 ./stale_read 2>report.txt; then exit 1; fi
grep 'Invalid read' report.txt
