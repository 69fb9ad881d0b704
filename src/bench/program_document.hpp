// Writes the member "programs" of `flatline.bench/1`.
#pragma once

#include "program_results.hpp"

#include <nlohmann/json.hpp>

namespace flat::bench {

/// One object for each program, in the catalogue's order. If the program is missing, "missing" says how to get it and
/// its rows are empty. Figures keep five significant digits.
nlohmann::ordered_json programs_json(const ProgramResults &results);

} // namespace flat::bench
