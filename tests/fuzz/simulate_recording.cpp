// Fuzz target: any text in place of what an engine recorded. It is refused with one line, or is a workload that can be
// simulated.
#include "fuzz/target.hpp"

#include "simulate/recording.hpp"
#include "simulate/simulation.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    using namespace flat::simulate;
    try {
        const Recording recording = recording_of({reinterpret_cast<const char *>(data), size});
        const auto &arrivals = *recording.workload.recorded;
        DEMAND(std::ranges::is_sorted(arrivals, {}, &Arrival::time));
        DEMAND(std::ranges::all_of(arrivals, [&](const Arrival &each) {
            return each.service >= 1 && each.type < recording.workload.types.size() &&
                   each.dispatcher < recording.workload.dispatchers;
        }));
        if (recording.workload.shards > 8) return 0; // the rest takes time
        Chooser choice;
        choice.options.policy = DISPATCH_PREDICTIVE;
        DEMAND(simulate(recording.workload, choice, 1, {0, arrivals.size()}).tasks() == arrivals.size());
    } catch (const std::runtime_error &refusal) {
        DEMAND(*refusal.what() != 0 && std::strchr(refusal.what(), '\n') == nullptr);
    }
    return 0;
}
