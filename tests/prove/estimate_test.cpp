// Tests the estimates of paths in nanoseconds: made-up paths and latencies give exact figures, and estimates with this
// machine's latencies are ordered correctly.
#include "prove/estimate.hpp"

#include "prove/certificate.hpp"
#include "prove/estimates.hpp"

#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

namespace flat::prove {
namespace {

constexpr std::uint32_t no_register = 0, rax = 1U << 0, rdi = 1U << 7;

/// An instruction takes 1 ns, a hit 10, a miss 100, a page walk 1,000, so each digit of an estimate counts one kind.
Latencies made_up() {
    Latencies latencies;
    latencies.instruction.ns = 1;
    latencies.caches = {{1, 32768, {10, ""}, ""}, {2, 1048576, {30, ""}, ""}};
    latencies.memory.ns = 100;
    latencies.page_walk.ns = 1000;
    return latencies;
}

/// Consecutive instructions of 4 bytes, starting at the beginning of a cache line.
class Path {
  public:
    Path &does(unsigned loads, unsigned stores, std::string accessed, std::uint32_t writes = no_register,
               std::uint64_t times = 1) {
        Step step;
        step.instruction.address = address_;
        step.instruction.size = 4;
        step.instruction.loads = loads;
        step.instruction.stores = stores;
        step.instruction.accessed = std::move(accessed);
        step.instruction.counting.writes = writes;
        step.times = times;
        steps_.push_back(std::move(step));
        address_ += 4;
        return *this;
    }
    Path &loads(std::string accessed, std::uint32_t writes = no_register, std::uint64_t times = 1) {
        return does(1, 0, std::move(accessed), writes, times);
    }
    Path &stores(std::string accessed) { return does(0, 1, std::move(accessed)); }
    Path &works(std::uint32_t writes = no_register) { return does(0, 0, "", writes); }
    Path &goes(Flow flow, std::uint64_t target) {
        works(~0U);
        steps_.back().instruction.flow = flow;
        steps_.back().instruction.target = target;
        return *this;
    }
    Path &goes_on_at(std::uint64_t address) {
        address_ = address;
        return *this;
    }

    Estimate estimate(std::uint64_t stack_bytes = 0) const { return estimate_of(steps_, stack_bytes, made_up()); }
    std::uint64_t data_lines(std::uint64_t stack_bytes = 0) const { return estimate(stack_bytes).data_lines; }

  private:
    std::vector<Step> steps_;
    std::uint64_t address_ = 0x1000;
};

TEST(Estimate, OfInstructionsAloneIsTheirTimeAndTheirLinesOfCode) {
    const Estimate estimate = Path().works().works().works().estimate();
    EXPECT_EQ(estimate.best, 3);
    EXPECT_EQ(estimate.cold, 3 + 100);
    EXPECT_EQ(estimate.hostile, 3 + 1100);
    EXPECT_EQ(estimate.code_lines, 1U);
    EXPECT_EQ(estimate.data_lines, 0U);
}

TEST(Estimate, WaitsForEachLoadAndMissesEachLineOnce) {
    const Estimate estimate = Path().loads(":rdi+*1+0").loads(":rdi+*1+5").stores(":rsi+*1+0").estimate();
    EXPECT_EQ(estimate.best, 3 + 2 * 10);
    EXPECT_EQ(estimate.cold, 3 + 3 * 100 + 100);
    EXPECT_EQ(estimate.hostile, 3 + 3 * 1100 + 1100);
    EXPECT_EQ(estimate.data_lines, 3U);
}

TEST(Estimate, TheStoresAreTheOnesThatMiss) {
    const Estimate estimate =
        Path().loads(":rdi+*1+0").loads(":rdi+*1+0").stores(":rdi+*1+0").stores(":rdi+*1+0").estimate();
    EXPECT_EQ(estimate.data_lines, 2U);
    EXPECT_EQ(estimate.cold, 4 + 2 * 10 + 2 * 100 + 100);
}

TEST(Estimate, CountsEachLineOfCodeOnce) {
    EXPECT_EQ(Path().works().goes_on_at(0x1080).works().goes_on_at(0x1004).works().estimate().code_lines, 2U);
    EXPECT_EQ(Path().goes_on_at(0x103e).works().estimate().code_lines, 2U) << "one that lies on two";
    EXPECT_EQ(Path().goes_on_at(0x103c).works().estimate().code_lines, 1U) << "one that ends with its line";
}

TEST(DataLines, OneAddressIsAtMostTwoLines) {
    EXPECT_EQ(Path().loads(":rdi+*1+0").data_lines(), 1U);
    EXPECT_EQ(Path().loads(":rdi+*1+0").loads(":rdi+*1+0").loads(":rdi+*1+0").data_lines(), 2U);
    EXPECT_EQ(Path().does(2, 2, ":rdi+*1+0").data_lines(), 2U);
    EXPECT_EQ(Path().loads("x3+0").loads("x3+0").loads("x3+0").loads("x4+0").data_lines(), 3U);
    EXPECT_EQ(Path().loads(":rip+*1+64").works(~0U).loads(":rip+*1+64").loads(":rip+*1+64").data_lines(), 2U);
}

TEST(DataLines, AnAddressIsAnotherOnceItsRegistersMayBeWritten) {
    const auto with = [](std::uint32_t writes) {
        return Path().does(2, 0, ":rdi+rax*8+0").works(writes).does(2, 0, ":rdi+rax*8+0").data_lines();
    };
    EXPECT_EQ(with(no_register), 2U);
    EXPECT_EQ(with(1U << 1), 2U);
    EXPECT_EQ(with(rdi), 4U);
    EXPECT_EQ(with(rax), 4U);
    EXPECT_EQ(with(~0U), 4U);
    EXPECT_EQ(Path().loads(":rax+*1+0", rax).loads(":rax+*1+0", rax).loads(":rax+*1+0", rax).data_lines(), 3U);
}

TEST(DataLines, AJumpWritesNothingUnlessOtherCodeRanBehindIt) {
    const auto with = [](Flow flow, std::uint64_t target, std::uint64_t then) {
        Path path;
        path.does(2, 0, ":rdi+*1+0").goes(flow, target).goes_on_at(then).does(2, 0, ":rdi+*1+0");
        return path.data_lines();
    };
    EXPECT_EQ(with(Flow::jump, 0x2000, 0x2000), 2U);
    EXPECT_EQ(with(Flow::branch, 0x2000, 0x2000), 2U);
    EXPECT_EQ(with(Flow::branch, 0x2000, 0x1008), 2U);
    EXPECT_EQ(with(Flow::call, 0x2000, 0x2000), 2U);
    EXPECT_EQ(with(Flow::back, 0, 0x2000), 2U);
    EXPECT_EQ(with(Flow::call, 0x2000, 0x1008), 4U) << "a function whose cost is stated apart";
    EXPECT_EQ(with(Flow::indirect_call, 0, 0x1008), 4U);
    EXPECT_EQ(with(Flow::jump, 0x2000, 0x3000), 4U);
}

TEST(DataLines, WhatIsNotKnownCountsEachTime) {
    for (const char *address :
         {":ymm1+*1+0", ":edi+*1+0", "x3+0xf8626820", "x31+0x58000fe0", ":rdi+xmm1*4+0", "x32+0", "x+0"})
        EXPECT_EQ(Path().loads(address).loads(address).loads(address).data_lines(), 3U) << address;
    EXPECT_EQ(Path().loads(":rdi+*1+0", no_register, 16).data_lines(), 16U) << "a loop";
}

TEST(DataLines, TheStackHasAsManyAsItIsLong) {
    Path path;
    for (int i = 0; i < 40; i++) path.loads(i % 2 == 0 ? ":rsp+*1+0" : "");
    EXPECT_EQ(path.data_lines(0), 2U);
    EXPECT_EQ(path.data_lines(63), 2U);
    EXPECT_EQ(path.data_lines(64), 3U);
    EXPECT_EQ(path.data_lines(640), 12U);
    EXPECT_EQ(path.data_lines(1 << 20), 40U) << "no more than are accessed";
    EXPECT_EQ(Path().loads("x31+2").loads("x31+3").loads("x31+4").data_lines(), 2U);
}

TEST(Estimate, IsInOrderForEveryPath) {
    std::minstd_rand random(1); // fixed seed: the paths are the same in each run
    const auto below = [&random](unsigned end) { return static_cast<unsigned>(random() % end); };
    const char *const addresses[] = {":rdi+*1+0", ":rsp+*1+1", "", ":rax+rdi*8+0", ":rip+*1+70", ":edi+*1+0"};
    for (int i = 0; i < 500; i++) {
        Path path;
        for (unsigned steps = 1 + below(30); steps > 0; steps--)
            path.does(below(3), below(3), addresses[below(6)], below(4) == 0 ? rdi : no_register,
                      below(8) == 0 ? 5 : 1);
        const Estimate estimate = path.estimate(below(300));
        EXPECT_GT(estimate.best, 0);
        EXPECT_LE(estimate.best, estimate.cold);
        EXPECT_LE(estimate.cold, estimate.hostile);
    }
}

TEST(Estimate, IsOfTheProvedAlone) {
    Certificate certificate;
    certificate.functions = {{"proved", ProofStatus::proved, {}},
                             {"seen", ProofStatus::proved, {}},
                             {"refused", ProofStatus::refused, {}},
                             {"absent", ProofStatus::absent, {}}};
    const MachineEstimate all = estimate_of(certificate, made_up(), {{"seen", 42}, {"refused", 1}, {"other", 1}});
    EXPECT_EQ(all.functions.size(), 2U);
    EXPECT_FALSE(all.functions.at("proved").observed_max);
    EXPECT_EQ(all.functions.at("seen").observed_max, 42);
}

void expect_in_order(const Latencies &latencies) {
    EXPECT_GT(latencies.instruction.ns, 0);
    double below = latencies.instruction.ns;
    ASSERT_FALSE(latencies.caches.empty());
    EXPECT_EQ(latencies.caches.front().level, 1U);
    for (const CacheLevel &cache : latencies.caches) {
        EXPECT_GE(cache.hit.ns, below) << "L" << cache.level;
        below = cache.hit.ns;
    }
    EXPECT_GE(latencies.memory.ns, below);
    EXPECT_GE(latencies.page_walk.ns, latencies.first_level());
    EXPECT_TRUE(std::isfinite(latencies.memory.ns) && std::isfinite(latencies.page_walk.ns));
}

TEST(Latencies, OfThisMachineArePositiveAndInOrder) {
    const Latencies latencies = measured_latencies();
    expect_in_order(latencies);
    for (const CacheLevel &cache : latencies.caches) {
        EXPECT_GT(cache.bytes, 0U);
        EXPECT_FALSE(cache.hit.how.empty());
        EXPECT_FALSE(cache.size_by.empty());
    }
    for (const Latency &each : {latencies.instruction, latencies.memory, latencies.page_walk})
        EXPECT_FALSE(each.how.empty());
}

TEST(Latencies, InOrderStayAsTheyAre) {
    const Latencies latencies = in_order(made_up());
    EXPECT_EQ(latencies.instruction.ns, 1);
    EXPECT_EQ(latencies.caches[0].hit.ns, 10);
    EXPECT_EQ(latencies.caches[1].hit.ns, 30);
    EXPECT_EQ(latencies.memory.ns, 100);
    EXPECT_EQ(latencies.page_walk.ns, 1000);
}

TEST(Latencies, OutOfOrderTakeTheValueThatTheyCannotFallBelow) {
    Latencies latencies = made_up();
    latencies.caches[1].hit.ns = 5;
    latencies.memory.ns = 7;
    latencies.page_walk.ns = -3;
    const Latencies ordered = in_order(latencies);
    expect_in_order(ordered);
    EXPECT_EQ(ordered.caches[1].hit.ns, 10);
    EXPECT_EQ(ordered.memory.ns, 10);
    EXPECT_EQ(ordered.page_walk.ns, 10);
}

TEST(Latencies, AreNeverZeroNorNoNumber) {
    for (const double wrong : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(),
                               -std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()}) {
        Latencies latencies = made_up();
        latencies.instruction.ns = latencies.caches[0].hit.ns = latencies.memory.ns = latencies.page_walk.ns = wrong;
        expect_in_order(in_order(latencies));
    }
}

} // namespace
} // namespace flat::prove
