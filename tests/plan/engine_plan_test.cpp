// Compares a plan with the engine that is made from it: bytes, pages, grants, blocks.
#include "plan/engine_plan.hpp"

#include "core/environment.hpp"
#include "core/mapping.hpp"
#include "plan/engine_declarations.hpp"
#include "plan/engine_state.h"
#include "plan/texts.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <memory>
#include <string>
#include <sys/mman.h>
#include <vector>

using namespace flat::plan;

namespace {

constexpr std::size_t page = 4096;

EnginePlan plan_of(const EngineDeclaration &declaration) {
    return plan_engine(EngineOptions(declaration).get(), use_of(declaration));
}

struct Ender {
    void operator()(flat_engine *engine) const { flat_engine_destroy(engine); }
};
using Engine = std::unique_ptr<flat_engine, Ender>;

/// Memory of exactly this size, with a page behind it that ends the program.
class ExactMemory {
  public:
    explicit ExactMemory(std::size_t size) : mapping_(size + page, page), size_(size) {
        EXPECT_EQ(size % page, 0U);
        EXPECT_EQ(mprotect(mapping_.start() + size, page, PROT_NONE), 0);
    }
    flat_memory all_but(std::size_t bytes) const { return {mapping_.start(), size_ - bytes}; }

  private:
    test::mapping mapping_;
    std::size_t size_;
};

/// What a task finds on its worker.
struct Found {
    std::vector<std::size_t> sizes; // of the classes, to look for
    std::vector<std::uint64_t> left, capacity;
    std::uint64_t inline_capacity = 0;
};
Found *found;

std::uint64_t count_blocks(flat_pool *pool, std::size_t size) {
    std::vector<void *> blocks;
    while (void *block = flat_pool_alloc(pool, size)) blocks.push_back(block);
    for (void *block : blocks) EXPECT_EQ(flat_pool_free(pool, block), FLAT_OK);
    return blocks.size();
}

void look_around(flat_worker *here, void *, std::size_t) {
    const flat_submitter *own = flat_engine_submitter(here);
    const std::size_t number = flat_engine_worker(here);
    for (const std::size_t size : found->sizes) {
        found->left.push_back(count_blocks(flat_engine_pool(here), size));
        found->capacity.push_back(flat_engine_capacity(own, number, size));
    }
    found->inline_capacity = flat_engine_capacity(own, number, 1);
}

/// Submits a task with the first payload that the lane has a grant for.
void submit_any(flat_submitter *lane, std::size_t worker, const std::vector<PlannedPayload> &payloads) {
    for (std::size_t i = 0; i < payloads.size(); ++i) {
        if (payloads[i].lane_grants == 0) continue;
        flat_task task{};
        task.run = look_around;
        task.size_class = i + 1 < payloads.size() ? static_cast<unsigned>(i + 1) : 0;
        ASSERT_EQ(flat_engine_submit(lane, worker, &task, &worker, sizeof worker), FLAT_OK);
        return;
    }
    FAIL() << "a lane without a grant";
}

/// Compares what the plan says of these workers with what each of them has.
void expect_grants(flat_engine *engine, flat_submitter *lane, const PlannedWorkers &kind) {
    const std::size_t classes = kind.payloads.size() - 1;
    const PlannedPayload &inlined = kind.payloads.back();
    for (const std::size_t worker : kind.numbers) {
        Found here;
        for (std::size_t i = 0; i < classes; ++i) here.sizes.push_back(kind.payloads[i].block_size);
        found = &here;
        submit_any(lane, worker, kind.payloads);
        ASSERT_TRUE(flat_engine_step(engine, worker));
        for (std::size_t i = 0; i < classes; ++i) {
            ASSERT_EQ(here.left[i], kind.payloads[i].left());
            ASSERT_EQ(here.capacity[i], kind.payloads[i].worker_grants);
            ASSERT_EQ(flat_engine_capacity(lane, worker, here.sizes[i]), kind.payloads[i].lane_grants);
        }
        if (inlined.worker_grants > 0) {
            ASSERT_EQ(here.inline_capacity, inlined.worker_grants);
        }
        if (inlined.lane_grants > 0) {
            ASSERT_EQ(flat_engine_capacity(lane, worker, 1), inlined.lane_grants);
        }
    }
}

void expect_sums(const EnginePlan &plan) {
    const engine_parts &parts = plan.parts;
    ASSERT_EQ(parts.workers + parts.lanes + parts.statistics + parts.stacks + parts.stack_guards + parts.others,
              plan.footprint.metadata_bytes);
    ASSERT_EQ(parts.pools + parts.block_guards + parts.block_padding, plan.footprint.block_bytes);
    ASSERT_EQ(plan.parked_bytes + plan.left_bytes + plan.padding + parts.block_guards, plan.footprint.block_bytes);
    ASSERT_LT(plan.padding, plan.footprint.block_bytes);
    ASSERT_LT(parts.others, std::uint64_t{64} * 1024);
}

/// The engine is made in exactly the plan's memory, and refuses a byte less.
void expect_made(const EngineDeclaration &declaration, const EnginePlan &plan) {
    const EngineOptions options(declaration);
    const ExactMemory metadata(plan.footprint.metadata_bytes), blocks(plan.footprint.block_bytes);
    flat_engine *made = nullptr;
    ASSERT_EQ(flat_engine_init(&made, &options.get(), metadata.all_but(1), blocks.all_but(0)), FLAT_OUT_OF_MEMORY);
    ASSERT_EQ(flat_engine_init(&made, &options.get(), metadata.all_but(0), blocks.all_but(1)), FLAT_OUT_OF_MEMORY);
    ASSERT_EQ(flat_engine_init(&made, &options.get(), metadata.all_but(0), blocks.all_but(0)), FLAT_OK);
    const Engine engine(made);
    if (!declaration.caller_runs_workers) return;
    flat_submitter *lane = nullptr;
    ASSERT_EQ(flat_engine_register(made, &lane), FLAT_OK);
    for (const PlannedWorkers &kind : plan.kinds) expect_grants(made, lane, kind);
}

/// Pages of the memory that the kernel has given to this process.
std::uint64_t resident_pages(const void *start, std::size_t bytes) {
    std::vector<std::uint64_t> entries(bytes / page);
    std::FILE *pages = std::fopen("/proc/self/pagemap", "rb");
    if (pages == nullptr) throw std::runtime_error("no /proc/self/pagemap");
    const std::uint64_t first = test::address_of(start) / page;
    const bool read = std::fseek(pages, static_cast<long>(first * sizeof entries[0]), SEEK_SET) == 0 &&
                      std::fread(entries.data(), sizeof entries[0], entries.size(), pages) == entries.size();
    (void)std::fclose(pages);
    if (!read) throw std::runtime_error("/proc/self/pagemap cannot be read");
    std::uint64_t resident = 0;
    for (const std::uint64_t each : entries) resident += each >> 63;
    return resident;
}

} // namespace

TEST(engine_plan, has_the_bytes_and_grants_of_the_engine_that_is_then_made) {
    const std::uint64_t seed = test::seed();
    SCOPED_TRACE("FLATLINE_TEST_SEED=" + std::to_string(seed));
    test::random_source random(seed);
    std::size_t made = 0, tried = 0;
    for (const std::size_t wanted = test::scaled(1000); made < wanted; ++tried) {
        const EngineDeclaration declaration = test::random_engine(random);
        const EngineOptions options(declaration);
        flat_footprint need;
        if (flat_engine_footprint(&options.get(), &need) != FLAT_OK) {
            ASSERT_NE(test::refusal_of([&] { (void)plan_of(declaration); }).find("the engine refuses: "),
                      std::string::npos);
            continue;
        }
        const EnginePlan plan = plan_of(declaration);
        ASSERT_EQ(plan.footprint.metadata_bytes, need.metadata_bytes);
        ASSERT_EQ(plan.footprint.block_bytes, need.block_bytes);
        ASSERT_EQ(plan.footprint.metadata_alignment, need.metadata_alignment);
        ASSERT_EQ(plan.footprint.block_alignment, need.block_alignment);
        expect_sums(plan);
        expect_made(declaration, plan);
        if (HasFatalFailure()) return;
        ++made;
    }
    EXPECT_GT(20 * made, tried); // otherwise the declarations are no good
}

TEST(engine_plan, is_what_the_kernel_counts_as_resident_without_the_guards) {
    const std::uint64_t seed = test::seed();
    SCOPED_TRACE("FLATLINE_TEST_SEED=" + std::to_string(seed));
    test::random_source random(seed);
    for (std::size_t left = 12; left > 0;) {
        EngineDeclaration declaration = test::random_engine(random);
        declaration.caller_runs_workers = left % 4 == 0;
        declaration.waiting = FLAT_WAITING_SLEEP;
        if (test::refusal_of([&] { (void)plan_of(declaration); }) != "") continue;
        const EnginePlan plan = plan_of(declaration);
        const EngineOptions options(declaration);
        flat_engine *made = nullptr;
        ASSERT_EQ(flat_engine_create(&made, &options.get()), FLAT_OK);
        const Engine engine(made);
        const std::uint64_t metadata = plan.footprint.metadata_bytes, blocks = plan.footprint.block_bytes;
        EXPECT_EQ(resident_pages(engine_metadata_region(made).start, metadata) * page,
                  metadata - plan.parts.stack_guards);
        EXPECT_EQ(resident_pages(engine_block_region(made).start, blocks) * page, blocks - plan.parts.block_guards);
        if (!declaration.caller_runs_workers) {
            EXPECT_GT(plan.parts.stacks, 0U);
        }
        --left;
    }
}

TEST(engine_plan, counts_grants_parked_and_left_by_class_and_lane) {
    EngineDeclaration declaration;
    declaration.worker_count = 2;
    declaration.classes = {{{64, 100}, {1000, 30}}, {{}, {3, FLAT_NO_GRANTS, 5000}}, {every_urgency, 1}};
    declaration.inline_limits = {FLAT_NO_GRANTS, 7, 0};
    const EnginePlan plan = plan_of(declaration);
    EXPECT_EQ(plan.lanes, 4U);
    ASSERT_EQ(plan.kinds.size(), 1U);
    EXPECT_EQ(plan.kinds[0].numbers, (std::vector<std::size_t>{0, 1}));
    const std::vector<PlannedPayload> &payloads = plan.kinds[0].payloads;
    ASSERT_EQ(payloads.size(), 3U);
    EXPECT_EQ(payloads[0].lane_grants, 50U / 6); // half of the blocks, evenly among six lanes
    EXPECT_EQ(payloads[0].granted, 48U);
    EXPECT_EQ(payloads[0].left(), 52U);
    EXPECT_EQ(payloads[1].granted, 12U);
    EXPECT_EQ(payloads[1].service_ns, 5000U);
    EXPECT_EQ(payloads[1].bounds.size(), 1U);
    EXPECT_EQ(payloads[2].granted, 14U);
    EXPECT_EQ(plan.parked_bytes, 2 * (48 * 64 + 12 * 1008U));
    EXPECT_EQ(plan.left_bytes, 2 * (52 * 64 + 18 * 1008U));
    EXPECT_EQ(plan.starvation_limit, 64U);
    EXPECT_EQ(plan.overhead_ns, usual_overhead_ns + 6 * overhead_of_lane_ns);
}

TEST(engine_plan, keeps_workers_apart_that_differ) {
    EngineDeclaration declaration;
    declaration.worker_count = 4;
    declaration.classes = {{{64, 100}}, {{4, 1, 1000}}, {1}};
    declaration.workers.resize(4);
    declaration.workers[2].own = {{{64, 100}}, {{4, 1, 2000}}, {2}};
    const EnginePlan plan = plan_of(declaration);
    ASSERT_EQ(plan.kinds.size(), 2U);
    EXPECT_EQ(plan.kinds[0].numbers, (std::vector<std::size_t>{0, 1, 3}));
    EXPECT_EQ(plan.kinds[1].numbers, (std::vector<std::size_t>{2}));
    EXPECT_EQ(plan.kinds[0].payloads[0].urgencies, 1U);
    EXPECT_EQ(plan.kinds[1].payloads[0].urgencies, 2U);
    EXPECT_EQ(plan.kinds[1].payloads[0].service_ns, 2000U);
}

TEST(engine_plan, refuses_with_what_the_engine_says) {
    EngineDeclaration declaration;
    declaration.classes = {{{64, 4}}, {{}}, {every_urgency}};
    EXPECT_NE(test::refusal_of([&] { (void)plan_of(declaration); }).find("class 0: half of 4 blocks among 5 lanes"),
              std::string::npos);
    declaration.classes.limits[0].grants = 1;
    EXPECT_NE(test::refusal_of([&] { (void)plan_of(declaration); }), "");
    declaration.classes.limits[0].worker_grants = FLAT_NO_GRANTS;
    EXPECT_EQ(test::refusal_of([&] { (void)plan_of(declaration); }), "");
    declaration.stack_size = 4096;
    EXPECT_NE(test::refusal_of([&] { (void)plan_of(declaration); }).find("a stack of 4096 bytes"), std::string::npos);
    declaration.stack_size = (PTRDIFF_MAX / 2 / FLAT_ENGINE_MAX_WORKERS) & ~std::size_t{4095};
    declaration.worker_count = FLAT_ENGINE_MAX_WORKERS;
    declaration.watchdog_ns = 1;
    EXPECT_NE(test::refusal_of([&] { (void)plan_of(declaration); }).find("exceed"), std::string::npos);
}
