// What the functions of a certificate may take on one machine.
#pragma once

#include "certificate.hpp"
#include "estimate.hpp"

#include <map>
#include <string>

namespace flat::prove {

/// Of each proved function's longest path by instructions. `observed` has by function what `flatline bench` saw.
MachineEstimate estimate_of(const Certificate &certificate, const Latencies &latencies,
                            const std::map<std::string, double> &observed);

} // namespace flat::prove
