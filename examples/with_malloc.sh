#!/bin/sh
# Runs a program under Flatline's malloc: for one run, by hand, and linked. LD_LIBRARY_PATH names the lib of Flatline's
# prefix, unless the prefix is one that the system searches.
set -eu

cc -std=c11 words.c -o words
flatline run --stats -- ./words                  # one run; says why, where it cannot be
LD_PRELOAD=libflatline-malloc.so ./words         # by hand
cc -std=c11 words.c $(pkg-config --libs-only-L flatline) -lflatline-malloc -o words
FLATLINE_POLICY=memory ./words                   # linked, under another policy
