#!/bin/sh
# Proves a function of a program, keeps the certificate, and holds the next build to it.
set -eu

cc -O2 -g1 $(pkg-config --cflags flatline) bounded_search.c $(pkg-config --libs flatline) -o search
flatline prove ./search --json certificate.json

# After a change, another compiler, other options:
cc -O3 -g1 $(pkg-config --cflags flatline) bounded_search.c $(pkg-config --libs flatline) -o search
flatline prove ./search --limit certificate.json || echo "the bound has grown"
