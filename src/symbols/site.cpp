#include "site.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace flat::symbols {
namespace {

std::string_view file_name_of(std::string_view path) { return path.substr(path.find_last_of('/') + 1); }

bool is_digit(char each) { return each >= '0' && each <= '9'; }

/// "libc" of libc.so.6 and of libc-2.36.so; empty if it is no shared library.
std::string_view library_name(std::string_view file) {
    const std::size_t ending = file.find(".so");
    if (ending == std::string_view::npos) return {};
    std::string_view name = file.substr(0, ending);
    const std::size_t dash = name.find_last_of('-');
    const auto is_of_a_version = [](char each) { return is_digit(each) || each == '.'; };
    if (dash != std::string_view::npos && std::ranges::all_of(name.substr(dash + 1), is_of_a_version))
        name = name.substr(0, dash);
    return name;
}

/// Whether a header of the C or C++ library, or of the compiler, is at this path.
bool is_standard_header(std::string_view path) {
    const auto has = [path](std::string_view part) { return path.find(part) != std::string_view::npos; };
    if (has("/include/c++/")) return true;                               // libstdc++'s, and libc++'s in .../c++/v1
    if (has("/lib/gcc/") || has("/lib/clang/")) return has("/include/"); // the compilers' own: intrinsics
    if (!path.starts_with("/usr/include/")) return false;
    return has("/c++/") || has("/bits/"); // of one machine, and what glibc inlines
}

/// The function's name without what stands before it, in "void std::f<int>(int)".
std::string_view without_return_type(std::string_view function) {
    std::size_t begin = 0;
    int depth = 0; // of template arguments
    for (std::size_t i = 0; i < function.size(); i++) {
        const char each = function[i];
        if (each == '<') depth++;
        if (each == '>') depth--;
        if (depth > 0) continue;
        if (each == '(' || function.substr(i).starts_with("operator")) break;
        if (each == ' ') begin = i + 1;
    }
    return function.substr(begin);
}

bool is_allocation_operator(std::string_view function) {
    constexpr std::array names = {"operator new", "operator delete"};
    return std::ranges::any_of(names, [function](std::string_view name) {
        if (!function.starts_with(name)) return false;
        const std::string_view rest = function.substr(name.size());
        return rest.empty() || rest.starts_with('(') || rest.starts_with("[]");
    });
}

bool is_of_namespace_std(std::string_view function) {
    const std::string_view name = without_return_type(function);
    return name.starts_with("std::") || name.starts_with("__gnu_cxx::") || name.starts_with("__cxxabiv1::");
}

} // namespace

bool is_run_time_library(const std::string &module) {
    constexpr std::array<std::string_view, 12> names = {"libc",       "libstdc++", "libc++", "libc++abi",
                                                        "libpthread", "libgcc_s",  "libm",   "libdl",
                                                        "librt",      "libunwind", "ld",     "linux-vdso"};
    const std::string_view file = file_name_of(module), name = library_name(file);
    if (file == "[vdso]") return true;
    return name.starts_with("libflatline-") || name.starts_with("ld-") || std::ranges::find(names, name) != names.end();
}

bool is_the_programs_own(const SourceFrame &frame) {
    if (is_run_time_library(frame.module) || is_standard_header(frame.file)) return false;
    if (frame.file.empty() && is_of_namespace_std(frame.function)) return false;
    return !is_allocation_operator(frame.function) && frame.function != "_start";
}

std::size_t site_of(const std::vector<SourceFrame> &stack) {
    auto site = std::ranges::find_if(stack, is_the_programs_own);
    if (site == stack.end())
        site = std::ranges::find_if(stack, [](const SourceFrame &frame) { return frame.line > 0; });
    return site == stack.end() ? 0 : static_cast<std::size_t>(site - stack.begin());
}

bool has_site(const std::vector<SourceFrame> &stack) { return std::ranges::any_of(stack, is_the_programs_own); }

} // namespace flat::symbols
