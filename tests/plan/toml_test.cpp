#include "plan/toml.hpp"

#include "core/environment.hpp"
#include "core/random_source.hpp"
#include "plan/engine_declarations.hpp"
#include "plan/texts.hpp"

#include <gtest/gtest.h>

#include <string>

using namespace flat::plan;

namespace {

Declaration read(const std::string &text) { return declaration_from_toml(text, "plan.toml"); }

/// Expects the refusal to begin with the place and to contain the part.
void expect_refused(const std::string &text, const std::string &place, const std::string &part) {
    const std::string message = test::refusal_of([&] { (void)read(text); });
    EXPECT_TRUE(message.starts_with("plan.toml:" + place + ": ")) << message << "\nof " << text.substr(0, 200);
    EXPECT_NE(message.find(part), std::string::npos) << message << "\nof " << text.substr(0, 200);
}

bool is_possible(const EngineDeclaration &engine) {
    return test::refusal_of([&] { (void)make_plan({.engine = engine}, {}); }).empty();
}

const std::string class_line = "classes = [{ size = 64, count = 100 }]\n";

/// Expects the refusal of an engine with this line as its third, after the workers.
void expect_engine_refused(const std::string &line, const std::string &place, const std::string &part) {
    expect_refused("[engine]\nworkers = 1\n" + line + "\n" + (line.find("classes") == 0 ? "" : class_line), place,
                   part);
}

std::string repeated(const std::string &text, std::size_t times) {
    std::string all;
    for (std::size_t i = 0; i < times; ++i) all += text;
    return all;
}

void expect_same(const EnginePlan &a, const EnginePlan &b) {
    ASSERT_EQ(a.bytes(), b.bytes());
    ASSERT_EQ(a.parked_bytes, b.parked_bytes);
    ASSERT_EQ(a.starvation_limit, b.starvation_limit);
    ASSERT_EQ(a.overhead_ns, b.overhead_ns);
    ASSERT_EQ(a.kinds.size(), b.kinds.size());
    for (std::size_t i = 0; i < a.kinds.size(); ++i) {
        ASSERT_EQ(a.kinds[i].numbers, b.kinds[i].numbers);
        ASSERT_EQ(a.kinds[i].payloads, b.kinds[i].payloads);
    }
}

void expect_same(const Plan &a, const Plan &b) {
    ASSERT_EQ(a.pool.has_value(), b.pool.has_value());
    if (a.pool) {
        ASSERT_EQ(a.pool->classes.size(), b.pool->classes.size());
        for (std::size_t i = 0; i < a.pool->classes.size(); ++i) {
            ASSERT_EQ(a.pool->classes[i].declared.block_size, b.pool->classes[i].declared.block_size);
            ASSERT_EQ(a.pool->classes[i].declared.block_count, b.pool->classes[i].declared.block_count);
            ASSERT_EQ(a.pool->classes[i].offset, b.pool->classes[i].offset);
        }
        ASSERT_EQ(a.pool->bytes(), b.pool->bytes());
    }
    ASSERT_EQ(a.arena, b.arena);
    ASSERT_EQ(a.heap.has_value(), b.heap.has_value());
    if (a.heap) {
        ASSERT_EQ(a.heap->footprint.block_bytes, b.heap->footprint.block_bytes);
        ASSERT_EQ(a.heap->footprint.block_alignment, b.heap->footprint.block_alignment);
        ASSERT_EQ(a.heap->demand.reallocates, b.heap->demand.reallocates);
    }
    ASSERT_EQ(a.engine.has_value(), b.engine.has_value());
    if (a.engine) {
        expect_same(*a.engine, *b.engine);
    }
    ASSERT_EQ(a.demand, b.demand);
    ASSERT_EQ(a.fit.has_value(), b.fit.has_value());
    if (a.fit) {
        ASSERT_EQ(a.fit->waste, b.fit->waste);
    }
    if (a.fit) {
        ASSERT_EQ(a.fit->growth, b.fit->growth);
    }
}

} // namespace

TEST(toml, declares_all_there_is) {
    const Declaration all =
        read("# of the order book\n"
             "[pool]\n"
             "classes = [\n"
             "    { size = 64, count = 1000 },\n"
             "    { size = \"4K\", count = 16 }, # pages\n"
             "]\n"
             "[arena]\n"
             "bytes = \"64K\"\n"
             "alignment = 64\n"
             "[demand]\n"
             "sizes = [{ size = 48, count = 900 }, { size = 3000, count = 10, alignment = 4096 }]\n");
    ASSERT_EQ(all.classes.size(), 2U);
    EXPECT_EQ(all.classes[1].block_size, 4096U);
    EXPECT_EQ(all.classes[1].block_count, 16U);
    EXPECT_EQ(all.arena, (Arena{65536, 64}));
    ASSERT_EQ(all.demand.size(), 2U);
    EXPECT_EQ(all.demand[0], (DemandRow{48, 900, 1}));
    EXPECT_EQ(all.demand[1], (DemandRow{3000, 10, 4096}));
    const Declaration heap =
        read("[heap]\nlive = \"1M\"\nsmallest = 16\nlargest = \"4K\"\nalignment = 64\nreallocates = true");
    ASSERT_TRUE(heap.heap.has_value());
    EXPECT_EQ(heap.heap->live, 1U << 20);
    EXPECT_EQ(heap.heap->smallest, 16U);
    EXPECT_EQ(heap.heap->largest, 4096U);
    EXPECT_EQ(heap.heap->alignment, 64U);
    EXPECT_TRUE(heap.heap->reallocates);
    EXPECT_FALSE(read("[heap]\nlive = 64\nsmallest = 1\nlargest = 2").heap->reallocates);
    const Declaration shares =
        read("[pool]\nbytes = \"1M\"\nshares = [{ size = 64, percent = 30 }, { size = 1024, percent = 70 }]\n");
    EXPECT_EQ(shares.budget, 1U << 20);
    ASSERT_EQ(shares.shares.size(), 2U);
    EXPECT_EQ(shares.shares[1].percent, 70U);
    EXPECT_EQ(read("[arena]\nbytes = 10").arena, (Arena{10, 16}));
}

TEST(toml, what_is_written_is_read_back_as_the_same_plan) {
    const std::uint64_t seed = test::seed();
    SCOPED_TRACE("FLATLINE_TEST_SEED=" + std::to_string(seed));
    test::random_source random(seed);
    for (std::size_t left = test::scaled(300); left > 0; --left) {
        Declaration declaration;
        if (!random.one_in(3))
            for (std::uint64_t size = 1 + random.below(40); declaration.classes.size() < 1 + random.below(20);
                 size += 16 + random.below(1000))
                declaration.classes.push_back({size, 1 + random.below(5000)});
        if (random.one_in(2))
            declaration.arena = Arena{random.magnitude(most_bytes), std::uint64_t{1} << random.below(22)};
        if (declaration.classes.empty() || random.one_in(2))
            declaration.demand.push_back(
                {random.magnitude(9000), random.magnitude(100000), std::uint64_t{1} << random.below(13)});
        if (random.one_in(2)) {
            const std::uint64_t largest = random.magnitude(1 << 16);
            declaration.heap =
                flat_heap_demand{largest + random.below(1 << 20), 1 + random.below(largest), largest,
                                 random.one_in(2) ? 0 : std::size_t{1} << random.below(13), random.one_in(2)};
        }
        if (const EngineDeclaration engine = test::random_engine(random); random.one_in(2) && is_possible(engine))
            declaration.engine = engine;
        const Plan plan = make_plan(declaration, {});
        const std::string text = toml_of(plan, {"A remark."});
        expect_same(plan, make_plan(read(text), {}));
        ASSERT_FALSE(HasFatalFailure()) << text;
        EXPECT_TRUE(text.starts_with("# A remark.\n"));
    }
}

TEST(toml, syntax_is_refused_where_it_ends) {
    expect_refused("[pool]\nclasses = [{ size = 64, co", "2:27", "correct the TOML");
    expect_refused("[pool", "1:6", "correct the TOML");
    expect_refused("[pool]\nclasses = []\nclasses = []\n", "3:11", "redefine");
    expect_refused("[pool]\n[pool]\n", "2:1", "correct the TOML");
    expect_refused("a = 99999999999999999999999", "1:28", "64 bits");
    expect_refused("a = \x1b[31m\n", "1:5", "control character");
    expect_refused(std::string("a\0b = 1", 7), "1:2", "correct the TOML");
    expect_refused(std::string("\0\1\2\3", 4), "1:1", "correct the TOML");
    expect_refused("a = " + repeated("[", 100000), "1:261", "depth");
    expect_refused("a = " + repeated("{ a = ", 100000), "1:1541", "depth");
}

TEST(toml, is_utf8_whose_remarks_are_in_any_language) {
    EXPECT_EQ(read("# größe, 大きさ, \xf0\x9f\x98\x80, \xef\xbb\xb7\n[arena] # \xc2\x85\nbytes = 10\n").arena,
              (Arena{10, 16}));
    EXPECT_EQ(read("\xef\xbb\xbf[arena]\nbytes = 10\n").arena, (Arena{10, 16}));
    expect_refused("# ä\n[größe]\n", "2:4", "correct the TOML");
    expect_refused("# ä\n\"größe\" = 1\n", "2:1", "`gr??e` is not known");
    expect_refused("[arena]\nbytes = 1\xef\xbb\xb7\n", "2:10", "correct the TOML");
    for (const char *bytes :
         {"\xff", "\x80", "\xc3", "\xc3(", "\xc0\x80", "\xc1\xbf", "\xe0\x80\x80", "\xe0\x9f\xbf", "\xed\xa0\x80",
          "\xe2\x82", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80", "\xf0\x9f\x98"})
        expect_refused(std::string("[arena]\nbytes = 1\n# ä ") + bytes, "3:5", "not UTF-8");
    for (const char *bytes : {"\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80", "\xef\xbf\xbf",
                              "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"})
        EXPECT_EQ(read(std::string("[arena]\nbytes = 1\n# ") + bytes).arena, (Arena{1, 16}));
}

TEST(toml, keys_that_end_the_stack_of_the_parser_are_refused) {
    expect_refused("a" + repeated(".a", 1000000) + " = 1", "1:1", "dots");
    expect_refused("[a" + repeated(".a", 1000000) + "]", "1:1", "dots");
    expect_refused("a" + repeated(".a", 3999) + " = 1", "1:1", "`a` is not known");
    expect_refused("[a" + repeated(".a", 1999) + "]\na" + repeated(".a", 1999) + " = 1", "1:2", "`a` is not known");
}

TEST(toml, nothing_is_refused_as_nothing) {
    for (const char *text : {"", "\n", "# only a remark\n", "[arena.x]"})
        EXPECT_NE(test::refusal_of([&] { (void)read(text); }), "") << text;
    expect_refused("", "1:1", "nothing to plan");
    expect_refused("[pool]", "1:1", "either `classes`, or `bytes` and `shares`");
    expect_refused("[demand]\nsizes = []", "2:9", "at least one");
    expect_refused("[pool]\nclasses = []", "2:11", "at least one");
}

TEST(toml, unknown_keys_are_refused_and_the_known_ones_named) {
    expect_refused("pol = 1", "1:1", "pool, arena, heap, engine, demand");
    expect_refused("[pool]\nclases = []", "2:1", "classes, bytes, shares");
    expect_refused("[pool]\nclasses = [{ size = 64, cuont = 3 }]", "2:25", "size, count");
    expect_refused("[arena]\nbytes = 3\nalign = 4", "3:1", "bytes, alignment");
    expect_refused("[demand]\nsizes = [{ size = 3, count = 1, align = 4 }]", "2:33", "size, count, alignment");
    expect_refused("\"a\\u001b[31m\\nb\" = 1", "1:1", "`a?[31m?b`");
}

TEST(toml, missing_keys_are_named_where_they_should_be) {
    expect_refused("[pool]\nclasses = [{ size = 64 }]", "2:12", "`count` is missing");
    expect_refused("[pool]\nclasses = [{ count = 64 }]", "2:12", "`size` is missing");
    expect_refused("[pool]\nshares = [{ size = 64, percent = 100 }]", "1:1", "`bytes` is missing");
    expect_refused("[pool]\nbytes = 4096", "1:1", "`shares` is missing");
    expect_refused("[arena]\nalignment = 64", "1:1", "`bytes` is missing");
    expect_refused("[demand]", "1:1", "`sizes` is missing");
    expect_refused("[heap]\nlive = 10\nlargest = 3", "1:1", "`smallest` is missing");
}

TEST(toml, values_of_another_kind_are_refused) {
    expect_refused("pool = 3", "1:8", "not a table");
    expect_refused("[[pool]]", "1:1", "not a table");
    expect_refused("[pool]\nclasses = 1979-05-27", "2:11", "not a list");
    expect_refused("[pool]\nclasses = [3]", "2:12", "not a table");
    for (const char *size : {"-64", "64.5", "\"64Q\"", "true", "[]", "\"\"", "\"99999999999999999999K\"", "inf"})
        expect_refused(std::string("[pool]\nclasses = [{ size = ") + size + ", count = 1 }]", "2:21", "`size`");
    for (const char *count : {"-1", "1.0", "\"1\"", "false", "{}", "nan"})
        expect_refused(std::string("[pool]\nclasses = [{ size = 64, count = ") + count + " }]", "2:33", "`count`");
    expect_refused("[demand]\nsizes = [{ size = 64, count = 1, alignment = -8 }]", "2:46", "`alignment`");
}

TEST(toml, numbers_out_of_range_are_refused) {
    expect_refused("[pool]\nclasses = [{ size = 0, count = 1 }]", "2:12", "class of 0 bytes");
    expect_refused("[pool]\nclasses = [{ size = \"2G\", count = 1 }]", "2:12", "2147483648");
    expect_refused("[pool]\nclasses = [{ size = 64, count = 0 }]", "2:12", "0 blocks");
    expect_refused("[pool]\nclasses = [{ size = 64, count = 16777217 }]", "2:12", "16777217");
    expect_refused("[pool]\nclasses = [{ size = 64, count = 9223372036854775807 }]", "2:12", "9223372036854775807");
    expect_refused("[pool]\nclasses = [{ size = 64, count = 1 }, { size = 60, count = 1 }]", "2:11", "60 and 64");
    expect_refused("[pool]\nclasses = [" + repeated("{ size = 64, count = 1 },", 65) + "]", "2:11", "65 classes");
    expect_refused("[pool]\nbytes = \"1M\"\nshares = [{ size = 64, percent = 99 }]", "1:1", "99 %");
    expect_refused("[pool]\nbytes = \"1M\"\nshares = [{ size = 64, percent = 4294967396 }]", "3:34", "give 1 to 100");
    expect_refused("[pool]\nbytes = 0\nshares = [{ size = 64, percent = 100 }]", "1:1", "are too few");
    expect_refused("[pool]\nbytes = 1\nclasses = []", "1:1", "one of them");
    expect_refused("[arena]\nbytes = 0", "1:1", "arena of 0 bytes");
    expect_refused("[arena]\nbytes = 9223372036854775807", "1:1", "arena of");
    expect_refused("[arena]\nbytes = 64\nalignment = 3", "1:1", "power of two");
    expect_refused("[arena]\nbytes = 64\nalignment = 4194304", "1:1", "2097152");
    for (const char *heap :
         {"live = 10\nsmallest = 0\nlargest = 3", "live = 10\nsmallest = 4\nlargest = 3",
          "live = 10\nsmallest = 1\nlargest = 11", "live = 10\nsmallest = 1\nlargest = 2\nalignment = 3",
          "live = 10\nsmallest = 1\nlargest = 2\nalignment = 4194304",
          "live = 9223372036854775807\nsmallest = 1\nlargest = 9223372036854775807",
          "live = \"64G\"\nsmallest = 1\nlargest = 2"})
        expect_refused(std::string("[heap]\n") + heap, "1:1", "a heap ");
    expect_refused("[heap]\nlive = 10\nsmallest = 1\nlargest = 2\nreallocates = 1", "5:15", "true nor false");
    expect_refused("[heap]\nlive = 10\nsmallest = 1\nlarge = 2", "4:1", "live, smallest, largest, alignment");
    expect_refused("[demand]\nsizes = [{ size = 0, count = 3 }]", "2:10", "0 bytes");
    expect_refused("[demand]\nsizes = [{ size = 16, count = 3, alignment = 24 }]", "2:10", "power of two");
    expect_refused("[demand]\nsizes = [{ size = 16, count = 4294967297 }]", "2:10", "4294967296");
    expect_refused("[demand]\nsizes = [" + repeated("{ size = 16, count = 4294967296 },", 2) + "]", "2:9",
                   "4294967296");
    expect_refused("[demand]\nsizes = [{ size = 9223372036854775807, count = 1 }]", "2:10", "address space");
    expect_refused("[demand]\nsizes = [{ size = 16, count = 0 }]", "2:9", "no block is live");
}

TEST(toml, every_file_cut_short_is_refused_or_a_plan) {
    const std::string whole =
        "[pool]\nclasses = [\n  { size = 64, count = 1000 },\n]\n[arena]\nbytes = \"64K\"\n[demand]\n"
        "sizes = [{ size = 48, count = 900, alignment = 8 }]\n";
    for (std::size_t length = 0; length <= whole.size(); ++length) {
        const std::string message = test::refusal_of([&] { (void)read(whole.substr(0, length)); });
        EXPECT_TRUE(message.empty() || message.starts_with("plan.toml:")) << message;
    }
}

TEST(toml, declares_an_engine) {
    const Declaration read_back = read("[engine]\n"
                                       "lanes = 3\n"
                                       "waiting = \"busy\"\n"
                                       "spin = \"30us\"\n"
                                       "stack = \"128K\"\n"
                                       "starvation_limit = 9\n"
                                       "watchdog = \"10ms\"\n"
                                       "caller_runs_workers = true\n"
                                       "urgencies = [0, 2]\n"
                                       "overhead = \"700ns\"\n"
                                       "classes = [\n"
                                       "    { size = \"4K\", count = 70, grants = 8, worker_grants = \"none\" },\n"
                                       "    { size = 64, count = 100, service = \"20us\", urgencies = [3] },\n"
                                       "]\n"
                                       "inline = { grants = 5, worker_grants = 6, service = \"1ms\" }\n"
                                       "[[engine.worker]]\n"
                                       "processor = 5\n"
                                       "[[engine.worker]]\n"
                                       "bytes = \"64K\"\n"
                                       "shares = [{ size = 1024, percent = 70, grants = 2, worker_grants = 1 }, "
                                       "{ size = 64, percent = 30, grants = 3 }]\n");
    ASSERT_TRUE(read_back.engine.has_value());
    const EngineDeclaration &engine = *read_back.engine;
    EXPECT_EQ(engine.worker_count, 2U);
    EXPECT_EQ(engine.lane_count, 3U);
    EXPECT_EQ(engine.waiting, FLAT_WAITING_BUSY);
    EXPECT_EQ(engine.spin_ns, 30000U);
    EXPECT_EQ(engine.stack_size, 128U << 10);
    EXPECT_EQ(engine.starvation_limit, 9U);
    EXPECT_EQ(engine.watchdog_ns, 10000000U);
    EXPECT_TRUE(engine.caller_runs_workers);
    EXPECT_EQ(engine.overhead_ns, 700U);
    ASSERT_EQ(engine.classes.classes.size(), 2U);
    EXPECT_EQ(engine.classes.classes[0].block_size, 64U); // sorted, with all that goes with it
    EXPECT_EQ(engine.classes.limits[0].service_ns, 20000U);
    EXPECT_EQ(engine.classes.limits[0].grants, 0U);
    EXPECT_EQ(engine.classes.urgencies, (std::vector<Urgencies>{8, 1 | 4}));
    EXPECT_EQ(engine.classes.limits[1].grants, 8U);
    EXPECT_EQ(engine.classes.limits[1].worker_grants, FLAT_NO_GRANTS);
    EXPECT_EQ(engine.inline_limits.grants, 5U);
    EXPECT_EQ(engine.inline_limits.worker_grants, 6U);
    EXPECT_EQ(engine.inline_limits.service_ns, 1000000U);
    EXPECT_EQ(engine.inline_urgencies, Urgencies{1 | 4});
    ASSERT_EQ(engine.workers.size(), 2U);
    EXPECT_EQ(engine.workers[0].processor, 5U);
    EXPECT_FALSE(engine.workers[0].own || engine.workers[1].processor);
    ASSERT_TRUE(engine.workers[1].own.has_value());
    EXPECT_EQ(engine.workers[1].own->classes[0].block_size, 64U);
    EXPECT_EQ(engine.workers[1].own->limits[0].grants, 3U);
    EXPECT_EQ(engine.workers[1].own->limits[1].worker_grants, 1U);
    EXPECT_LE(plan_pool(engine.workers[1].own->classes).buffer_bytes(), 64U << 10);
}

TEST(toml, an_engine_has_its_defaults_where_it_says_nothing) {
    const EngineDeclaration engine = *read("[engine]\nworkers = 3\n" + class_line).engine;
    EXPECT_EQ(engine.worker_count, 3U);
    EXPECT_EQ(engine.lane_count, 0U);
    EXPECT_EQ(engine.waiting, FLAT_WAITING_DEFAULT);
    EXPECT_EQ(engine.classes.urgencies[0], every_urgency);
    EXPECT_EQ(engine.inline_urgencies, every_urgency);
    EXPECT_FALSE(engine.overhead_ns.has_value());
    EXPECT_EQ(read("[engine]\nworkers = 1\nwaiting = \"sleep\"\n" + class_line).engine->waiting, FLAT_WAITING_SLEEP);
    EXPECT_EQ(read("[engine]\nworkers = 1\nwaiting = \"spin\"\n" + class_line).engine->waiting, FLAT_WAITING_DEFAULT);
    // Where every worker has classes of its own, the engine needs none.
    EXPECT_TRUE(read("[engine]\n[[engine.worker]]\n" + class_line).engine->classes.classes.empty());
}

TEST(toml, an_engine_that_cannot_be_is_refused_where_it_is_wrong) {
    expect_refused("[engine]\n" + class_line, "1:1", "`workers` is missing");
    expect_refused("[engine]\nworkers = 1", "1:1", "either `classes`, or `bytes` and `shares`");
    expect_refused("[engine]\nworkers = 0\n" + class_line, "2:11", "give 1 to 256");
    expect_refused("[engine]\nworkers = 3\n" + class_line + "[[engine.worker]]\nprocessor = 1\n", "2:11",
                   "one for each worker, or none");
    expect_refused("[engine]\n" + class_line + "[engine.worker]\nprocessor = 1\n", "3:1", "[[engine.worker]]");
    expect_refused("[engine]\n" + class_line + repeated("[[engine.worker]]\n", 257), "1:1", "257 workers");
    expect_refused("[engine]\n" + class_line + "[[engine.worker]]\npinned = 1\n", "4:1", "processor, classes");
    expect_refused("[engine]\n" + class_line + "[[engine.worker]]\nprocessor = -1\n", "4:13", "whole number");
    expect_refused("[engine]\n" + class_line + "[[engine.worker]]\nclasses = [{ size = 0, count = 1 }]\n", "4:12",
                   "class of 0 bytes");
    expect_engine_refused("worker_count = 1", "3:1", "workers, lanes");
    expect_engine_refused("lanes = 0", "3:9", "give 1 to 1024");
    expect_engine_refused("waiting = \"idle\"", "3:11", "\"spin\", \"busy\" or \"sleep\"");
    expect_engine_refused("waiting = 3", "3:11", "\"spin\", \"busy\" or \"sleep\"");
    expect_engine_refused("spin = 30", "3:8", "\"20us\"");
    expect_engine_refused("spin = \"30\"", "3:8", "\"20us\"");
    expect_engine_refused("watchdog = \"0us\"", "3:12", "leave it out");
    expect_engine_refused("watchdog = \"100000000s\"", "3:12", "2 years");
    expect_engine_refused("starvation_limit = 32768", "3:20", "give 1 to 32767");
    expect_engine_refused("stack = \"many\"", "3:9", "number of bytes");
    expect_engine_refused("stack = 4097", "1:1", "a stack of 4097 bytes");
    expect_engine_refused("caller_runs_workers = 1", "3:23", "true nor false");
    expect_engine_refused("urgencies = 3", "3:13", "[0, 3]");
    expect_engine_refused("urgencies = []", "3:13", "[0, 3]");
    expect_engine_refused("urgencies = [4]", "3:14", "0, the lowest, to 3");
    expect_engine_refused("urgencies = [\"0\"]", "3:14", "0, the lowest, to 3");
    expect_engine_refused("inline = 3", "3:10", "{ service = \"5us\" }");
    expect_engine_refused("inline = { count = 3 }", "3:12", "grants, worker_grants, service, urgencies");
    expect_engine_refused("inline = { grants = 0 }", "3:21", "give 1 to 65535");
    expect_engine_refused("inline = { grants = \"all\" }", "3:21", "\"none\"");
    expect_engine_refused("classes = [{ size = 64, count = 1, service = \"1h\" }]", "3:46", "\"20us\"");
    expect_engine_refused("classes = [{ size = 64, count = 1, block = 1 }]", "3:36", "size, count, grants");
    expect_engine_refused("classes = [{ size = 64, count = 9 }, { size = 60, count = 9 }]", "3:11", "60 and 64");
    expect_engine_refused("classes = [{ size = 64, count = 1 }]", "1:1", "half of 1 blocks among 5 lanes");
    expect_engine_refused("classes = [{ size = 64, count = 9, grants = 9, worker_grants = 1 }]", "1:1",
                          "37 grants of 9");
    expect_engine_refused("classes = 1\nbytes = 2", "1:1", "write one of them");
    expect_refused("[engine]\nworkers = 1\nbytes = \"1M\"\nshares = [{ size = 64, percent = 0 }]", "4:34",
                   "give 1 to 100");
    expect_refused("[engine]\nworkers = 1\nbytes = \"1M\"\nshares = [{ size = 64, percent = 99 }]", "4:10", "99 %");
    expect_refused("[engine]\nworkers = 1\nbytes = 1\nshares = [{ size = 64, percent = 100 }]", "4:10", "too few");
}
