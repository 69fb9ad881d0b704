// Each case must be refused by the compiler, with the message that its name asks for; WITHOUT_FAULT must compile.
#include <flatline/engine.hpp>

#include <array>
#include <memory>

struct alignas(32) OverAligned {
    void operator()() const {}
};

flat_status submit(flat::submitter_ref lanes) {
    [[maybe_unused]] flat::completion<std::array<long double, 2>> handle;
#if defined(ALIGNMENT)
    return lanes.submit(0, OverAligned{});
#elif defined(ALIGNMENT_WITH_A_HANDLE)
    return lanes.submit(0, handle, OverAligned{});
#elif defined(ALIGNMENT_OF_THE_RESULT)
    flat::completion<OverAligned> result;
    return lanes.submit(0, result, [] { return OverAligned{}; });
#elif defined(RESULT_WITH_A_DESTRUCTOR)
    flat::completion<std::unique_ptr<int>> result;
    return lanes.submit(0, result, [] { return std::make_unique<int>(1); });
#elif defined(RESULT_OF_ANOTHER_TYPE)
    return lanes.submit(0, handle, [] { return "text"; });
#elif defined(ARGUMENT)
    return lanes.submit(0, [](int) {});
#elif defined(WITHOUT_FAULT)
    return lanes.submit(0, handle, [] { return std::array<long double, 2>{}; });
#endif
}
