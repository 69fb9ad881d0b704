#!/bin/sh
# Records what a program asks for, plans a pool for it, and runs the program in exactly the planned memory.
set -eu

flags="-std=c++17 -O2 $(pkg-config --cflags flatline)"
libraries=$(pkg-config --libs flatline)

c++ $flags planned_routes.cpp $libraries -o recorded
./recorded record.json >expected.txt
flatline plan record.json --header plan.h
c++ $flags -DPLANNED -I. planned_routes.cpp $libraries -o planned
./planned >planned.txt
grep "^$(cat expected.txt) in " planned.txt
