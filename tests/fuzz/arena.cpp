// Fuzz target: compares an arena over any small memory with the model, under any operations. The memory is PROT_NONE.
#include "fuzz/target.hpp"

#include "core/arena_run.hpp"
#include "core/mapping.hpp"

#include <string>

namespace {

constexpr std::size_t most_bytes = 1 << 16;

// Makes an operation from four bytes of input, spread over its parameters.
test::arena_operation operation_from(fuzz::input &input) {
    const auto what = input.take<std::uint8_t>();
    const std::uint64_t a = input.take<std::uint16_t>();
    const std::uint64_t b = input.take<std::uint8_t>();
    return {what, a, b | b << 8 | b << 16};
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    static const test::mapping memory(most_bytes + 4096, 4096, PROT_NONE);
    fuzz::input input(data, size);
    const std::size_t offset = input.take<std::uint8_t>(), bytes = input.take<std::uint16_t>();
    test::arena_run pair({memory.start() + offset, bytes});
    std::string wrong;
    while (!input.ended() && wrong.empty()) wrong = pair.apply(operation_from(input));
    if (wrong.empty()) wrong = pair.compare();
    if (!wrong.empty()) std::fprintf(stderr, "arena and model differ: %s\n", wrong.c_str());
    DEMAND(wrong.empty());
    return 0;
}
