#include "estimates.hpp"

namespace flat::prove {

MachineEstimate estimate_of(const Certificate &certificate, const Latencies &latencies,
                            const std::map<std::string, double> &observed) {
    MachineEstimate all{latencies, {}, {}};
    for (const ProvedFunction &function : certificate.functions) {
        if (function.verdict != ProofStatus::proved) continue;
        Estimate estimate =
            estimate_of(function.proof.path(Count::instructions), function.proof.stack_bytes, latencies);
        if (const auto seen = observed.find(function.name); seen != observed.end())
            estimate.observed_max = seen->second;
        all.functions[function.name] = estimate;
    }
    return all;
}

} // namespace flat::prove
