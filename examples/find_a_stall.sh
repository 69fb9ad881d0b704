#!/bin/sh
# Finds what stalls the callback of looper.cpp, and shows that a pool ends it.
set -eu

c++ -std=c++17 -O2 -g looper.cpp $(pkg-config --cflags --libs flatline) -o looper
flatline audit --out growing.audit -- ./looper growing
flatline audit --out early.audit -- ./looper early
flatline audit --out looper.audit -- ./looper

# A recording is shown again, as a page and for other tools:
flatline audit report early.audit --html stalls.html
flatline audit report early.audit --pprof stalls.pb.gz --folded stalls.folded --trace stalls.json

# Which calls take 1 us or longer? Does another allocator stall too?
flatline audit --over 1us -- ./looper growing
flatline audit --under flatline-malloc -- ./looper growing
