// Fuzz target: a tracking file of arbitrary bytes. It is refused with one line, or its plan holds the recorded demand.
#include "fuzz/plan.hpp"

#include "plan/tracking.hpp"

#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    using namespace flat::plan;
    const std::string_view text(reinterpret_cast<const char *>(data), size);
    Tracking tracking;
    if (!fuzz::refusal_of([&] { tracking = tracking_from(text, "t.json"); }).empty()) return 0;
    DEMAND(!tracking.peaks.empty());
    for (const unsigned margin : {0U, usual_margin, most_margin}) {
        Plan plan;
        const std::string refusal =
            fuzz::refusal_of([&] { plan = make_plan(declaration_of(tracking, margin), {margin, 64}); });
        if (!refusal.empty()) continue;
        fuzz::check(plan);
        DEMAND(plan.arena->bytes >= tracking.total_bytes);
        if (plan.choice->choices.beyond.empty()) DEMAND(plan.fit && plan.fit->growth >= 1 + margin / 100.0 - 1e-9);
    }
    return 0;
}
