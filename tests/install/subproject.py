#!/usr/bin/env python3
"""Holds Flatline to being a good part of another project: tests/install/subproject.

    subproject.py SOURCE WORK           what it must not decide for that project, and that it builds there
    subproject.py SOURCE WORK --faults  plants faults in a copy of the build's files, each of which must be noticed

The other project is built with no build type, of C alone and of both languages, by its own strict flags, and installed.
"""
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
STRICT = ["-DCMAKE_COMPILE_WARNING_AS_ERROR=ON", "-DCMAKE_C_FLAGS=-Wall -Wextra -Wsign-conversion -Wc++-compat -Werror",
          "-DCMAKE_CXX_FLAGS=-Werror"]

# name: (file, pattern, replacement)
FAULTS = {
    "the build type is forced": ("CMakeLists.txt", r"if\(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE",
                                 "if(NOT CMAKE_BUILD_TYPE"),
    "flags are cached": ("CMakeLists.txt", r"if\(CMAKE_CURRENT_SOURCE_DIR STREQUAL CMAKE_SOURCE_DIR\)", "if(TRUE)"),
    "a language is enabled": ("CMakeLists.txt", r"LANGUAGES C\)", "LANGUAGES C CXX)"),
    "it is installed": ("CMakeLists.txt", r'"Install what is built" \$\{PROJECT_IS_TOP_LEVEL\}',
                        '"Install what is built" ON'),
    "warnings of its own": ("cmake/options.cmake", r"if\(PROJECT_IS_TOP_LEVEL OR FLATLINE_WERROR\)", "if(TRUE)"),
    "files are joined": ("cmake/options.cmake", r"set\(CMAKE_UNITY_BUILD OFF\)", ""),
    "commands are exported": ("cmake/options.cmake", r"if\(PROJECT_IS_TOP_LEVEL\)", "if(TRUE)"),
    "libraries are put elsewhere": ("CMakeLists.txt", r"if\(PROJECT_IS_TOP_LEVEL OR FLATLINE_PROGRAM\)", "if(TRUE)"),
    "headers are not the system's": ("src/CMakeLists.txt", r"if\(NOT PROJECT_IS_TOP_LEVEL\)", "if(FALSE)"),
    "a target has a plain name": ("CMakeLists.txt", r"include\(GNUInstallDirs\)",
                                  "include(GNUInstallDirs)\nadd_custom_target(docs)"),
}


class Wrong(Exception):
    pass


def run(*command):
    result = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if result.returncode != 0:
        raise Wrong("%s:\n%s" % (" ".join(command), result.stdout[-3000:]))
    return result.stdout


def cached(folder):
    with open(os.path.join(folder, "CMakeCache.txt")) as file:
        return dict(re.findall(r"^([A-Za-z_]+):[A-Z]+=(.*)$", file.read(), re.M))


def check(source, work, languages, builds):
    shutil.rmtree(work, ignore_errors=True)
    folder, prefix = os.path.join(work, "build"), os.path.join(work, "prefix")
    run("cmake", "-S", os.path.join(HERE, "subproject"), "-B", folder, "-DFLATLINE_SOURCE=" + source,
        "-DLANGUAGES=" + languages, "-DCMAKE_INSTALL_PREFIX=" + prefix, *STRICT)
    cache = cached(folder)
    if cache.get("CMAKE_BUILD_TYPE"):
        raise Wrong("the build type became %s" % cache["CMAKE_BUILD_TYPE"])
    if cache["CMAKE_C_FLAGS_RELEASE"] != "-O3 -DNDEBUG":
        raise Wrong("Release became %s" % cache["CMAKE_C_FLAGS_RELEASE"])
    if os.path.exists(os.path.join(folder, "compile_commands.json")):
        raise Wrong("compile_commands.json was written")
    if languages == "C" and any("CMAKE_CXX_COMPILER" in name for name in cache):
        raise Wrong("C++ was enabled")
    if not builds:
        return
    run("cmake", "--build", folder)
    for program in sorted(os.listdir(folder)):
        if program.startswith(("strict-", "served-")):
            run(os.path.join(folder, program))
    if not os.path.exists(os.path.join(folder, "libraries", "libflatline.so")):
        raise Wrong("libraries do not lie where the other project puts them")
    run("cmake", "--install", folder)
    installed = [os.path.join(parent, file) for parent, _, files in os.walk(prefix) for file in files]
    if installed != [os.path.join(prefix, "mine", "served-malloc-static")]:
        raise Wrong("what was installed is %s" % installed)


def notices(source, work, name):
    """Whether the fault is noticed; the pattern must be there."""
    file, pattern, replacement = FAULTS[name]
    copy = os.path.join(work, "source")
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(copy)
    for part in ("CMakeLists.txt", "cmake", "include", "src"):
        place = os.path.join(source, part)
        (shutil.copytree if os.path.isdir(place) else shutil.copy)(place, os.path.join(copy, part))
    with open(os.path.join(copy, file)) as opened:
        text, count = re.subn(pattern, lambda _: replacement, opened.read(), count=1)
    if count != 1:
        raise Wrong("%s: its place is no longer in %s" % (name, file))
    with open(os.path.join(copy, file), "w") as opened:
        opened.write(text)
    try:
        check(copy, os.path.join(work, "around"), "C", True)
    except Wrong as noticed:
        print("noticed: %s: %s" % (name, str(noticed).strip().splitlines()[-1]))
        return True
    print("MISSED: %s" % name)
    return False


def main():
    source, work = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    if sys.argv[3:] == ["--faults"]:
        return 0 if all([notices(source, work, name) for name in FAULTS]) else 1
    for languages in "C", "C;CXX":
        check(source, work, languages, True)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Wrong as wrong:
        print(wrong)
        sys.exit(1)
