// <flatline/engine.hpp> with -fno-exceptions and -fno-rtti, in the oldest language that it serves. There is no test
// framework, because those need exceptions.
#include <flatline/engine.hpp>

#include <cstdio>
#include <memory>

#if defined(__cpp_exceptions) || defined(__cpp_rtti)
#error "this is for builds without either"
#endif

namespace {

int failures = 0;

void expect(bool holds, const char *what) {
    if (holds) return;
    std::fprintf(stderr, "does not hold: %s\n", what);
    failures++;
}

} // namespace

int main() {
    const flat_class classes[] = {{128, 16}};
    flat::engine_options options;
    options.classes = classes;
    flat::engine engine;
    expect(engine.start(options) == FLAT_OK, "an engine");
    flat::submitter lanes;
    expect(lanes.attach(engine) == FLAT_OK, "a lane");
    const std::uint64_t until = engine.now() + 60'000'000'000;
    flat::completion<int> answer;
    auto owned = std::make_unique<int>(41);
    expect(lanes.submit(0, answer, [owned = std::move(owned)] { return *owned + 1; }) == FLAT_OK, "a task");
    expect(lanes.wait(answer, until) == FLAT_OK && *answer.result() == 42, "its result");
    expect(lanes.submit(0, [](flat::worker &here) { (void)here.lanes().submit(0, [] {}); }) == FLAT_OK, "a small task");
    expect(engine.drain(60'000'000'000) == FLAT_OK, "a drain");
    expect(lanes.submit(0, [] {}) == FLAT_DRAINING, "errors as values need no exception");
    answer.reset();
    return failures == 0 ? 0 : 1;
}
