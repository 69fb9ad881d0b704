// setup.c: a program whose thread-local variables do not fit in the workers' stacks.
#include "engine/process.hpp"
#include "engine/test_engine.hpp"

#include <gtest/gtest.h>

namespace {

// Each thread of this program has these bytes on its stack.
thread_local volatile char large[200000];

} // namespace

TEST(engine_stacks, that_do_not_hold_the_programs_thread_local_variables_are_refused) {
    large[1000] = 1;
    test::engine_options options;
    options.value.caller_runs_workers = false;
    options.value.stack_size = 65536;
    const test::left_behind before = test::look_at_process();
    flat_engine *engine = nullptr;
    EXPECT_EQ(flat_engine_create(&engine, options.get()), FLAT_INVALID_ARGUMENT);
    EXPECT_NE(
        options.message().find("a stack of 65536 bytes does not hold the program's thread-local variables: raise"),
        std::string::npos)
        << options.message();
    EXPECT_EQ(test::look_at_process().threads, before.threads);
    EXPECT_EQ(test::look_at_process().files, before.files);
    options.value.stack_size = 1 << 20;
    ASSERT_EQ(flat_engine_create(&engine, options.get()), FLAT_OK) << options.message();
    flat_engine_destroy(engine);
}
