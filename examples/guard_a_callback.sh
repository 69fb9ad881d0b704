#!/bin/sh
# Guards an audio callback: what its first version does that it may not, and that the second one does none of it.
set -eu

c++ -std=c++17 -g -O1 guarded_callback.cpp $(pkg-config --cflags --libs flatline) -o guarded_callback
flatline guard --warm-up 1 -- ./guarded_callback first      # what the callback does
flatline guard --warm-up 1 --fail -- ./guarded_callback     # passes once it does nothing of it
