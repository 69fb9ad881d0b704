// Fuzz target: a declaration of arbitrary bytes. It is refused with one line that names a place, or it gives a plan. A
// plan that is written and read again is the same plan.
#include "fuzz/plan.hpp"

#include "plan/header.hpp"
#include "plan/toml.hpp"

#include <optional>
#include <string_view>

namespace {

using namespace flat::plan;

std::optional<Plan> planned(std::string_view text) {
    Plan plan;
    const std::string refusal =
        fuzz::refusal_of([&] { plan = make_plan(declaration_from_toml(text, "plan.toml"), {}); });
    if (!refusal.empty()) return std::nullopt;
    return plan;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    const std::optional<Plan> plan = planned({reinterpret_cast<const char *>(data), size});
    if (!plan) return 0;
    fuzz::check(*plan);
    DEMAND(!header_of(*plan, "plan").empty());
    if (!plan->pool && !plan->arena && !plan->heap && !plan->engine)
        return 0; // no pool can serve the demand: nothing to write
    const std::optional<Plan> again = planned(toml_of(*plan, {}));
    DEMAND(again.has_value());
    DEMAND(again->pool.has_value() == plan->pool.has_value());
    if (plan->pool) DEMAND(again->pool->bytes() == plan->pool->bytes());
    DEMAND(again->arena == plan->arena && again->demand == plan->demand && again->holds() == plan->holds());
    DEMAND(again->heap.has_value() == plan->heap.has_value());
    if (plan->heap) DEMAND(again->heap->bytes == plan->heap->bytes);
    DEMAND(again->engine.has_value() == plan->engine.has_value());
    if (!plan->engine) return 0;
    DEMAND(again->engine->bytes() == plan->engine->bytes() &&
           again->engine->kinds.size() == plan->engine->kinds.size());
    for (std::size_t i = 0; i < plan->engine->kinds.size(); ++i)
        DEMAND(again->engine->kinds[i].payloads == plan->engine->kinds[i].payloads);
    return 0;
}
