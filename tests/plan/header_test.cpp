// Tests the contents of the header. tests/plan/header_test.py compiles and runs one.
#include "plan/header.hpp"

#include <gtest/gtest.h>

using namespace flat::plan;

TEST(header, begins_its_names_with_an_identifier_made_of_the_files_name) {
    EXPECT_EQ(prefix_of("orders.h"), "orders");
    EXPECT_EQ(prefix_of("/a/b.c/Order-Book.plan.h"), "order_book");
    EXPECT_EQ(prefix_of("a--b__c.h"), "a_b_c"); // double underscores are reserved
    EXPECT_EQ(prefix_of("_x_.h"), "x");
    EXPECT_EQ(prefix_of("3d.h"), "plan3d");
    for (const char *file : {"-", "", ".h", "/", "a/", "日本.h"}) EXPECT_EQ(prefix_of(file), "plan") << file;
}

TEST(header, states_the_plan) {
    const Plan plan = make_plan({.classes = {{64, 1000}, {100, 7}}, .arena = Arena{4096, 64}}, {});
    const std::string text = header_of(plan, "orders");
    EXPECT_NE(text.find("/* clang-format off */\n"),
              std::string::npos); // a formatter must not change it
    for (const std::string &part :
         {std::string("#ifndef ORDERS_PLAN_H\n#define ORDERS_PLAN_H\n"), std::string("#define ORDERS_CLASS_COUNT 2\n"),
          std::string("static const flat_class orders_classes[ORDERS_CLASS_COUNT] = {\n    {64, 1000},\n"),
          "#define ORDERS_METADATA_BYTES " + std::to_string(plan.pool->footprint.metadata_bytes) + "\n",
          "#define ORDERS_BLOCK_BYTES " + std::to_string(plan.pool->footprint.block_bytes) + "\n",
          "#define ORDERS_BUFFER_BYTES " + std::to_string(plan.pool->buffer_bytes()) + "\n",
          std::string("#define ORDERS_ARENA_BYTES 4096\n#define ORDERS_ARENA_ALIGNMENT 64\n")})
        EXPECT_NE(text.find(part), std::string::npos) << part;
}

TEST(header, has_only_what_was_planned) {
    const std::string arena = header_of(make_plan({.arena = Arena{4096, 64}}, {}), "a");
    EXPECT_EQ(arena.find("pool"), std::string::npos);
    const std::string pool = header_of(make_plan({.classes = {{64, 1}}}, {}), "a");
    EXPECT_EQ(pool.find("ARENA"), std::string::npos);
    EXPECT_EQ(pool.find("HEAP"), std::string::npos);
    const Plan heap = make_plan({.heap = flat_heap_demand{1 << 20, 16, 4096, 0, false}}, {});
    EXPECT_NE(header_of(heap, "a").find("#define A_HEAP_BYTES " + std::to_string(heap.heap->bytes) + "\n"),
              std::string::npos);
}

TEST(header, states_the_options_of_an_engine) {
    EngineDeclaration engine;
    engine.worker_count = 2;
    engine.classes = {{{64, 1000}}, {{5, FLAT_NO_GRANTS, 20000}}, {every_urgency}};
    engine.inline_limits = {7, 0, 3000};
    engine.workers.resize(2);
    engine.workers[0].processor = 4;
    engine.workers[1].own = EngineClasses{{{128, 500}}, {{9, 1, 0}}, {every_urgency}};
    engine.waiting = FLAT_WAITING_BUSY;
    engine.lane_count = 3;
    engine.starvation_limit = 9;
    const Plan plan = make_plan({.engine = engine}, {});
    const std::string text = header_of(plan, "orders");
    for (const std::string &part :
         {std::string("#include <flatline/engine.h>\n"),
          std::string("static const flat_class orders_engine_classes[1] = {\n    {64, 1000},\n"),
          std::string("    {5, FLAT_NO_GRANTS, 20000},\n"), std::string("    {9, 1, 0},\n"),
          std::string("    {NULL, 0, NULL, true, 4},\n    {orders_worker_1_classes, 1, orders_worker_1_class_limits, "
                      "false, 0},\n"),
          std::string("options.inline_limits.grants = 7;"), std::string("options.waiting = FLAT_WAITING_BUSY;"),
          std::string("options.lane_count = 3;"), std::string("options.starvation_limit = 9;"),
          "#define ORDERS_ENGINE_METADATA_BYTES " + std::to_string(plan.engine->footprint.metadata_bytes) + "\n",
          "#define ORDERS_ENGINE_BLOCK_BYTES " + std::to_string(plan.engine->footprint.block_bytes) + "\n"})
        EXPECT_NE(text.find(part), std::string::npos) << part << "\nin\n" << text;
}
