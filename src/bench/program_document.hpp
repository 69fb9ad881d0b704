// The member "programs" of `flatline.bench/1`.
#pragma once

#include "program_results.hpp"

#include <nlohmann/json.hpp>

namespace flat::bench {

/// One object for each program, in the catalogue's order. Where it is missing, "missing" says how it is had and its
/// rows are empty. Figures keep five significant digits.
nlohmann::ordered_json programs_json(const ProgramResults &results);

} // namespace flat::bench
