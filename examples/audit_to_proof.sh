#!/bin/sh
# From a stall to a proof: finds what stalls a loop, plans a pool for what it was recorded to request, and shows of the
# same loop with the pool that it does nothing that could stall, and how long it can take.
set -eu

flags="-O2 -g $(pkg-config --cflags flatline)"
libraries="$(pkg-config --variable=libdir flatline)/libflatline.a -lpthread"

cc $flags camera_loop.c $libraries -o recorded
flatline audit --out record.flat -- ./recorded 2>report.txt
grep "free: system call munmap" report.txt

flatline plan record.flat --phase steady --header plan.h >plan.txt
grep "allocations, none refused" plan.txt
cc $flags -DPLANNED -I. camera_loop.c $libraries -o planned
./planned

if flatline --help | grep -q '^  guard '; then
    flatline guard --fail -- ./planned
else
    echo "This Flatline has no guard: that the loop calls nothing that waits is not checked."
fi
flatline prove ./planned
