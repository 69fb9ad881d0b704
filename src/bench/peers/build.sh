#!/bin/bash
# build.sh OUT WORK: builds the peers that Debian does not package, or only old, each as one library to be preloaded.
#
#   OUT/lib<peer>.so    the library; it says its version to who asks for the symbol flatline_peer_version, where it has
#                       no function of its own for that
#   OUT/<peer>.json     how it was built: {"version", "source", "compiler", "flags"}; or {"missing": why there is none}
#   WORK                the sources, which cargo brings, and what the builds leave behind
#
# A peer that cannot be had stops nothing else: its reason is written down, and the exit status is 0 all the same.
# Compilers are CC and CXX. A peer that was built by the same script, versions and compiler is left as it is.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1" "$2"
out=$(cd "$1" && pwd)
work=$(cd "$2" && pwd)
: "${CC:=cc}" "${CXX:=c++}"
vendor=$work/vendor
fetch_seconds=120

# pinned CRATE: its version in the manifest.
pinned() { sed -n "s/^$1 = \"=\(.*\)\"/\1/p" "$here/Cargo.toml"; }

# record PEER KEY VALUE...: OUT/PEER.json. Values lose the two characters that would need quoting.
record() {
    local file=$out/$1.json separator='{'
    shift
    while [ $# -gt 0 ]; do
        printf '%s"%s": "%s"' "$separator" "$1" "$(tr -d '"\\' <<<"$2" | tr '\n\t' '  ' | sed 's/ *$//')"
        separator=', '
        shift 2
    done >"$file"
    echo '}' >>"$file"
}

# What a build is the outcome of.
key() { { cat "$here/build.sh" "$here/Cargo.toml" && "$CC" --version && "$CXX" --version; } 2>&1 | sha256sum; }

# Brings the sources; says why not on standard output where it cannot.
fetch() {
    local said
    command -v cargo >/dev/null || {
        echo "cargo is not installed: scripts/bootstrap bench installs it"
        return 1
    }
    mkdir -p "$work/manifest"
    cp "$here/Cargo.toml" "$work/manifest/"
    : >"$work/manifest/peers.rs"
    said=$(cd "$work/manifest" && timeout "$fetch_seconds" cargo vendor --quiet "$vendor" 2>&1 >/dev/null) || {
        echo "cargo could not fetch its source: ${said##*$'\n'}"
        return 1
    }
}

# version_object PEER VERSION: compiles the symbol that tells the version.
version_object() {
    printf '__attribute__((visibility("default"))) const char flatline_peer_version[] = "%s";\n' "$2" >"$work/$1/version.c"
    "$CC" -O2 -fPIC -c "$work/$1/version.c" -o "$work/$1/version.o"
}

# Each of these gets the folder of its source, builds $result, and sets version and flags. The flags are those of the
# project's own release builds, but for the baseline processor: nothing here is built for this machine alone.
build_mimalloc() {
    local source=$1/c_src/mimalloc/v3 number
    number=$(sed -n 's/^#define MI_MALLOC_VERSION \([0-9]*\).*/\1/p' "$source/include/mimalloc.h")
    version=$((number / 10000)).$((number / 100 % 100)).$((number % 100))
    flags="-O3 -DNDEBUG -DMI_BUILD_RELEASE -DMI_SHARED_LIB -DMI_SHARED_LIB_EXPORT -DMI_MALLOC_OVERRIDE \
-fvisibility=hidden -ftls-model=initial-exec -fno-builtin-malloc ${2:-}"
    # shellcheck disable=SC2086 # the flags are words
    "$CC" $flags -fPIC -shared -I"$source/include" -I"$source/src" "$source/src/static.c" -o "$result" -lpthread
}

# Not measured: what it notices stands in docs/malloc.md.
build_mimalloc_secure() { build_mimalloc "$1" -DMI_SECURE=4; }

build_snmalloc() {
    version=$(pinned snmalloc-sys)
    version_object snmalloc "$version"
    cmake -S "$1/upstream" -B "$work/snmalloc/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DSNMALLOC_BUILD_TESTING=OFF \
        -DSNMALLOC_LINKER_FLAVOUR=bfd -DCMAKE_C_COMPILER="$CC" -DCMAKE_CXX_COMPILER="$CXX" \
        -DCMAKE_SHARED_LINKER_FLAGS="$work/snmalloc/version.o" &&
        cmake --build "$work/snmalloc/build" --target snmallocshim &&
        cp "$work/snmalloc/build/libsnmallocshim.so" "$result"
    flags=$(ninja -C "$work/snmalloc/build" -t commands snmallocshim | grep -o -- ' -[A-Za-z][^ ]*' |
        grep -v -- '-M[DTF]\|-[cIo]$\|^ -I\|-isystem\|-W' | tr -d '"\\' | awk '!seen[$0]++' | xargs)
}

build_rpmalloc() {
    version=$(head -1 "$1/rpmalloc/CHANGELOG" | tr -d '\r')
    version_object rpmalloc "$version"
    flags="-O3 -funroll-loops -DNDEBUG -DENABLE_PRELOAD=1 -DENABLE_OVERRIDE=1 -D_GNU_SOURCE"
    # shellcheck disable=SC2086
    "$CC" $flags -fPIC -shared "$1/rpmalloc/rpmalloc/rpmalloc.c" "$work/rpmalloc/version.o" -o "$result" -lpthread -ldl
}

build_hardened_malloc() {
    local source=$1/vendor/hardened-malloc settings file
    local -a files=()
    version=$(pinned hardened-malloc-sys)
    version_object hardened_malloc "$version"
    settings=$(sed -n 's/^\([A-Z_]*\) *= *\(.*\)/-D\1=\2/p' "$1/config-default.conf" | xargs)
    # The two headers are what C23 has in the language.
    flags="-std=gnu2x -O3 -DNDEBUG -D_GNU_SOURCE -fvisibility=hidden -include stdalign.h -include threads.h $settings"
    for file in chacha h_malloc memory pages random util; do files+=("$source/$file.c"); done
    # shellcheck disable=SC2086
    "$CC" $flags -fPIC -shared -I"$source" -I"$source/include" -I"$source/third_party" "${files[@]}" \
        "$work/hardened_malloc/version.o" -o "$result"
}

build_jemalloc() {
    version=$(sed 's/^[^+]*+\([0-9.]*\).*/\1/' <<<"$(crate_version tikv-jemalloc-sys)")
    cp -r "$1/jemalloc" "$1/configure/configure" "$work/jemalloc/"
    (cd "$work/jemalloc/jemalloc" && CC=$CC CXX=$CXX sh ../configure --srcdir=. --disable-doc --disable-static \
        --with-version="$version-0-g0000000000000000000000000000000000000000" &&
        make -j"$(nproc)" build_lib_shared && cp -L lib/libjemalloc.so "$result")
    strip --strip-debug "$result"
    flags=$(sed -n 's/^CONFIGURE_CFLAGS *:= //p' "$work/jemalloc/jemalloc/Makefile" | tr ' ' '\n' | grep -v '^-W\|^-pipe' | xargs)
}

build_o1heap() {
    version=$(crate_version o1heap)
    version_object o1heap "$version"
    flags="-std=c11 -O3 -DNDEBUG"
    # shellcheck disable=SC2086
    "$CC" $flags -fPIC -shared "$1/o1heap/o1heap/o1heap.c" "$work/o1heap/version.o" -o "$result"
}

# crate_version CRATE: as its own manifest says it, with what stands behind the plus sign.
crate_version() { sed -n '/^\[package\]/,/^\[[^p]/s/^version = "\(.*\)"/\1/p' "$vendor/$1/Cargo.toml"; }

# build PEER CRATE [REMARK]
build() {
    local peer=$1 crate=$2 remark=${3:-} version='' flags='' result=$work/$1/lib$1.so
    if [ -e "$out/lib$peer.so" ] && [ "$(cat "$work/$peer/key" 2>/dev/null)" = "$key" ]; then return; fi
    rm -rf "$out/lib$peer.so" "$out/$peer.json" "${work:?}/$peer"
    mkdir -p "$work/$peer"
    if [ ! -d "$vendor/$crate" ]; then
        record "$peer" missing "${unfetched:-its source, the crate $crate, is not in $vendor}"
        return
    fi
    if ! "build_$peer" "$vendor/$crate" >"$work/$peer/log" 2>&1 || [ ! -e "$result" ]; then
        record "$peer" missing "it could not be built; $work/$peer/log says why"
        return
    fi
    mv "$result" "$out/lib$peer.so"
    record "$peer" version "$version" source "crate $crate $(crate_version "$crate")${remark:+ ($remark)}" \
        compiler "$("$CC" --version | head -1)" flags "$flags"
    echo "$key" >"$work/$peer/key"
}

peers='mimalloc libmimalloc-sys
mimalloc_secure libmimalloc-sys
snmalloc snmalloc-sys
rpmalloc rpmalloc-sys upstream is at 2.x
hardened_malloc hardened-malloc-sys
jemalloc tikv-jemalloc-sys
o1heap o1heap'

key=$(key)
unfetched=
if [ "$(cat "$work/key" 2>/dev/null)" != "$key" ] || [ ! -d "$vendor" ]; then
    rm -rf "$vendor"
    if unfetched=$(fetch); then echo "$key" >"$work/key"; fi
fi
while read -r peer crate remark; do build "$peer" "$crate" "$remark" & done <<<"$peers"
wait
while read -r peer _; do
    missing=$(sed -n 's/^{"missing": "\(.*\)"}$/\1/p' "$out/$peer.json")
    [ -z "$missing" ] || echo "peers: no $peer: $missing" >&2
done <<<"$peers"
exit 0
