// Estimates of the time that the functions of a certificate take on one machine.
#pragma once

#include "certificate.hpp"
#include "estimate.hpp"

#include <map>
#include <string>

namespace flat::prove {

/// Estimates each proved function from its longest path by instructions. `observed` has the maximum that `flatline
/// bench` measured, by function.
MachineEstimate estimate_of(const Certificate &certificate, const Latencies &latencies,
                            const std::map<std::string, double> &observed);

} // namespace flat::prove
