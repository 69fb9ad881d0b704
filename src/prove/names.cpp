#include "names.hpp"

#include <algorithm>
#include <cstdlib>
#include <memory>

#include <libiberty/demangle.h>

namespace flat::prove {
namespace {

struct Free {
    void operator()(char *text) const { std::free(text); }
};

std::string demangled_as(const std::string &name, int options) {
    const std::unique_ptr<char, Free> text(cplus_demangle(name.c_str(), DMGL_AUTO | DMGL_ANSI | options));
    return text ? text.get() : "";
}

std::string without_spaces(std::string_view text) {
    std::string kept(text);
    std::erase(kept, ' ');
    return kept;
}

} // namespace

std::string demangled(const std::string &name) {
    std::string text = demangled_as(name, DMGL_PARAMS);
    return text.empty() ? name : text;
}

std::vector<const Symbol *> functions_written(const Binary &binary, std::string_view name) {
    const std::string wanted = without_spaces(name);
    std::vector<const Symbol *> found;
    for (const Symbol &symbol : binary.symbols()) {
        if (!symbol.name.starts_with("_Z") && !symbol.name.starts_with("_R")) continue;
        if (symbol.name.find('.') != std::string::npos && symbol.name.find(".llvm.") == std::string::npos) continue;
        const auto is_wanted = [&](int options) {
            return without_spaces(demangled_as(symbol.name, options)) == wanted;
        };
        if (!is_wanted(DMGL_NO_OPTS) && !is_wanted(DMGL_PARAMS) && !is_wanted(DMGL_PARAMS | DMGL_RET_DROP)) continue;
        const auto same = [&symbol](const Symbol *other) { return other->address == symbol.address; };
        if (std::ranges::none_of(found, same)) found.push_back(&symbol);
    }
    return found;
}

} // namespace flat::prove
