// Fuzz target: compares a heap of any size and start with the model, under any operations.
#include "fuzz/target.hpp"

#include "core/heap_model_run.hpp"

#include <string>

namespace {

// Makes an operation from six bytes of input, spread over its parameters.
test::heap_operation operation_from(fuzz::input &input) {
    const auto what = input.take<std::uint8_t>();
    const std::uint64_t a = input.take<std::uint16_t>(), more = input.take<std::uint8_t>();
    const std::uint64_t b = input.take<std::uint16_t>();
    return {what, a | (a * 0x9e3779b9u + more) << 20, b | b * 0x9e3779b97f4a7c15u << 16};
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    fuzz::input input(data, size);
    const std::size_t cells = 1 + input.take<std::uint16_t>() % 300, rest = input.take<std::uint8_t>();
    test::test_heap heap(cells * test::heap_cell + rest, PROT_READ | PROT_WRITE,
                         test::heap_cell << input.take<std::uint8_t>() % 8);
    test::heap_run pair(heap);
    std::string wrong;
    while (!input.ended() && wrong.empty()) wrong = pair.apply(operation_from(input));
    if (wrong.empty()) wrong = pair.compare();
    if (wrong.empty()) wrong = pair.drain();
    if (!wrong.empty()) std::fprintf(stderr, "heap and model differ: %s\n", wrong.c_str());
    DEMAND(wrong.empty());
    return 0;
}
