#include "demangle.hpp"

#include <cstdlib>
#include <memory>

#include <libiberty/demangle.h>

namespace flat::symbols {
namespace {

struct Free {
    void operator()(char *text) const { std::free(text); }
};

int options_for(NameParts parts) {
    switch (parts) {
    case NameParts::name_alone: return DMGL_NO_OPTS;
    case NameParts::with_parameters: return DMGL_PARAMS;
    case NameParts::with_parameters_alone: return DMGL_PARAMS | DMGL_RET_DROP;
    }
    return DMGL_NO_OPTS;
}

} // namespace

std::string demangled_parts(const std::string &name, NameParts parts) {
    const std::unique_ptr<char, Free> text(cplus_demangle(name.c_str(), DMGL_AUTO | DMGL_ANSI | options_for(parts)));
    return text ? text.get() : "";
}

std::string demangled(const std::string &name) {
    std::string text = demangled_parts(name, NameParts::with_parameters);
    return text.empty() ? name : text;
}

} // namespace flat::symbols
