#!/bin/bash
# installed.sh PREFIX WORK CHECK: one check of an installed tree from outside of the project, in the empty folder WORK.
# Ends with 0 iff the promise holds. CMakeLists.txt says which checks there are and what each stands for.
set -euo pipefail
prefix=$1
work=$2
check=$3
here=$(cd "$(dirname "$0")" && pwd)

fail() {
    echo "installed.sh: $check: $*" >&2
    exit 1
}

# The consumers print the version of the library that serves them; the package says which that must be.
run_consumers() {
    local folder=$1 wanted program
    wanted=$(PKG_CONFIG_PATH=$prefix/lib/pkgconfig pkg-config --modversion flatline)
    for program in consumer-{c,cpp}-{flatline,static}; do
        [ "$("$folder/$program")" = "$wanted" ] || fail "$program does not print $wanted"
    done
    needs_shared "$folder/consumer-c-flatline" || fail "consumer-c-flatline is not linked to the shared library"
    ! needs_shared "$folder/consumer-c-static" || fail "consumer-c-static is linked to the shared library"
}

needs_shared() { readelf -d "$1" | grep -F 'libflatline.so.' >/dev/null; }

unset MAKEFLAGS MAKELEVEL # of the make that may have started the tests
rm -rf "$work"
mkdir -p "$work"
cd "$work"

case $check in
complete)
    for file in lib/libflatline.a lib/libflatline.so lib/libflatline-core.a include/flatline/pool.h \
        lib/pkgconfig/flatline.pc lib/pkgconfig/flatline-core.pc \
        lib/cmake/flatline/flatlineConfig.cmake lib/cmake/flatline/flatlineConfigVersion.cmake; do
        [ -e "$prefix/$file" ] || fail "$file is not there"
    done
    diff -r "$here/../../include/flatline" "$prefix/include/flatline" || fail "the headers differ from the project's"
    ;;
program_complete)
    for file in bin/flatline share/flatline/report.html libexec/flatline/bench-pool \
        libexec/flatline/libflatline-probe.so lib/libflatline-audit.so lib/libflatline-guard.so \
        lib/libflatline-malloc.so; do
        [ -e "$prefix/$file" ] || fail "$file is not there"
    done
    ;;
cmake_package)
    cmake -S "$here/consumer" -B . -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$prefix" \
        -DEXAMPLES="$here/../../examples"
    cmake --build .
    run_consumers .
    ./consumer-bare-metal || fail "consumer-bare-metal ends with $?"
    for program in consumer-malloc consumer-malloc-static consumer-both-static; do
        FLATLINE_STATS=1 "./$program" 2>&1 | grep -q '^flatline-malloc: .*: policy: balanced' || fail "$program is not served"
    done
    ;;
hosted_calls)
    # Where there is no operating system, the compiler refuses a call that needs one, and says why.
    flags="-std=c11 -ffreestanding -nostdlib -static $(PKG_CONFIG_PATH=$prefix/lib/pkgconfig pkg-config --cflags flatline-core)"
    echo '#include <flatline/pool.h>
    void _start(void);
    void _start(void) { flat_pool_destroy(NULL); }' >hosted.c
    # shellcheck disable=SC2086
    ! "${CC:-cc}" $flags hosted.c -o hosted "$prefix/lib/libflatline-core.a" 2>said.txt || fail "it was compiled"
    grep -q "needs an operating system: link libflatline" said.txt || fail "$(cat said.txt)"
    ;;
pkg_config)
    cp "$here"/consumer/{Makefile,consumer.c,consumer.cpp} .
    PKG_CONFIG_PATH=$prefix/lib/pkgconfig make
    run_consumers .
    ;;
strict)
    # By pkg-config, whose folder is not the system's: what is written there is looked at.
    flags=$(PKG_CONFIG_PATH=$prefix/lib/pkgconfig pkg-config --cflags --libs flatline)
    for how in gcc:c:c11:gcc clang:c:c2x:clang-19 gcc:c++:c++17:g++ clang:c++:c++20:clang++-19 gcc:c++:c++2b:g++; do
        IFS=: read -r family language standard compiler <<<"$how"
        command -v "$compiler" >/dev/null || continue
        source=$here/consumer/strict.cpp
        [ "$language" = c++ ] || source=$here/consumer/strict.c
        warnings=$(python3 -B -c "
import sys
sys.path.insert(0, '$here/../build')
import headers
print(*headers.WARNINGS, *headers.OF_LANGUAGE['$language'], *headers.OF_COMPILER['$family', '$language'])")
        # shellcheck disable=SC2086
        "$compiler" -O1 -std="$standard" $warnings "$source" -o strict $flags -Wl,-rpath,"$prefix/lib" >said.txt 2>&1 ||
            fail "$compiler with -std=$standard: $(cat said.txt)"
        ./strict >/dev/null || fail "what $compiler made with -std=$standard does not work"
    done
    ;;
names)
    "$here/names.py" "$prefix" >said.txt || fail "$(cat said.txt)"
    ;;
plain_names)
    # All of an archive is linked, so that no member of it is left out by chance.
    for library in flatline flatline-malloc; do
        for kind in a so; do
            file=$prefix/lib/lib$library.$kind
            [ -e "$file" ] || continue
            define=-DBY_POOL
            [ $library = flatline ] || define=-UBY_POOL
            "${CC:-cc}" -std=c11 $define -I "$prefix/include" "$here/consumer/plain_names.c" -o "$library-$kind" \
                -Wl,--whole-archive "$file" -Wl,--no-whole-archive -Wl,-rpath,"$prefix/lib" 2>said.txt ||
                fail "a program with plain names does not link with $file: $(cat said.txt)"
            "./$library-$kind" || fail "$file disturbs a program with plain names"
        done
    done
    ;;
bench_help)
    "$prefix/bin/flatline" --version
    "$prefix/bin/flatline" bench --help
    ;;
proves)
    "$prefix/bin/flatline" prove --limit "$here/../prove/limits/x86_64-gcc-O2.json" >proof.txt || fail "$(cat proof.txt)"
    [ "$(head -1 proof.txt)" = "$prefix/lib/libflatline.so" ] || fail "another library was proved: $(head -1 proof.txt)"
    ;;
bench_runs)
    "$prefix/bin/flatline" bench hot --quick --processes 1 --json out.json --html out.html
    [ -s out.html ] || fail "no page was written"
    python3 - "$prefix" <<'PYTHON'
import json, sys
report = json.load(open("out.json"))
assert report["schema"] == "flatline.bench/1", report["schema"]
assert any(cell["backend"] == "flatline-pool" for cell in report["cells"]), "no cell of the pool"
served = [a["path"] for a in report["environment"]["allocators"] if a["backend"] == "flatline-pool"]
assert served and served[0].startswith(sys.argv[1] + "/lib/"), f"the pool was measured in {served}"
PYTHON
    ;;
*) fail "there is no such check" ;;
esac
