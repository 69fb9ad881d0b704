#include "names.hpp"

#include "symbols/demangle.hpp"

#include <algorithm>

namespace flat::prove {
namespace {

std::string without_spaces(std::string_view text) {
    std::string kept(text);
    std::erase(kept, ' ');
    return kept;
}

} // namespace

std::vector<const Symbol *> functions_written(const Binary &binary, std::string_view name) {
    const std::string wanted = without_spaces(name);
    std::vector<const Symbol *> found;
    for (const Symbol &symbol : binary.symbols()) {
        if (!symbol.name.starts_with("_Z") && !symbol.name.starts_with("_R")) continue;
        if (symbol.name.find('.') != std::string::npos && symbol.name.find(".llvm.") == std::string::npos) continue;
        const auto is_wanted = [&](symbols::NameParts parts) {
            return without_spaces(symbols::demangled_parts(symbol.name, parts)) == wanted;
        };
        using enum symbols::NameParts;
        if (!is_wanted(name_alone) && !is_wanted(with_parameters) && !is_wanted(with_parameters_alone)) continue;
        const auto same = [&symbol](const Symbol *other) { return other->address == symbol.address; };
        if (std::ranges::none_of(found, same)) found.push_back(&symbol);
    }
    return found;
}

} // namespace flat::prove
