// Fuzz target: compares a pool of any small class table with the model, under any operations. Blocks are PROT_NONE.
#include "fuzz/target.hpp"

#include "core/model_run.hpp"

#include <string>
#include <vector>

namespace {

std::vector<flat_class> layout_from(fuzz::input &input) {
    std::vector<flat_class> layout;
    std::size_t size = 0;
    for (int classes = 1 + input.take<std::uint8_t>() % 8; classes > 0; classes--) {
        const auto step = input.take<std::uint16_t>();
        size = (size + 15) / 16 * 16 + 1 + step % (step & 0x8000 ? 6000u : 64u);
        layout.push_back({size, 1 + std::size_t{input.take<std::uint8_t>()} % 40});
    }
    return layout;
}

// Makes an operation from four bytes of input, spread over its parameters.
test::operation operation_from(fuzz::input &input) {
    const auto what = input.take<std::uint8_t>();
    const std::uint64_t a = input.take<std::uint16_t>();
    const std::uint64_t b = input.take<std::uint8_t>();
    return {what, a | (a * 0x9e3779b9u) << 16, b | (b % 12) << 32 | (b * 0x9e3779b97f4a7c15u & 0xfffffff0ffff0000u)};
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    fuzz::input input(data, size);
    test::test_pool pool(layout_from(input), PROT_NONE);
    test::model_run pair(pool);
    DEMAND(test::check_placement(pool, pair.reference()).empty());
    std::string wrong;
    while (!input.ended() && wrong.empty()) wrong = pair.apply(operation_from(input));
    if (wrong.empty()) wrong = pair.compare();
    if (wrong.empty()) wrong = pair.drain();
    if (!wrong.empty()) std::fprintf(stderr, "pool and model differ: %s\n", wrong.c_str());
    DEMAND(wrong.empty());
    return 0;
}
