// Counts the instructions of the usual malloc and free one by one, and compares them with what the manual says.
#include "prove/stepper.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdlib>
#include <dlfcn.h>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace {

// The most that any call of each function took, for the smallest sizes and the largest, with some blocks in the cache.
std::vector<flat::test::Watched> count_usual_calls() {
    std::vector<flat::test::Watched> watched{{"malloc", dlsym(RTLD_DEFAULT, "malloc")},
                                             {"free", dlsym(RTLD_DEFAULT, "free")}};
    flat::test::step_through(watched, {{0, UINTPTR_MAX}}, [] {
        for (const std::size_t size : {1UL, 16UL, 17UL, 500UL, 1024UL, 16384UL}) {
            std::array<void *, 3> blocks{};
            for (void *&block : blocks) block = malloc(size);
            free(blocks[0]);
            flat::test::watch(true);
            blocks[0] = malloc(size);
            free(blocks[0]);
            flat::test::watch(false);
            for (std::size_t i = 1; i < blocks.size(); i++) free(blocks[i]);
        }
    });
    return watched;
}

// The same for calls on a page of which another thread has freed a block. The owner's first free takes that block back,
// and from then on the usual path is open.
std::vector<flat::test::Watched> count_calls_after_a_remote_free() {
    std::vector<flat::test::Watched> watched{{"malloc", dlsym(RTLD_DEFAULT, "malloc")},
                                             {"free", dlsym(RTLD_DEFAULT, "free")}};
    std::array<void *, 8> blocks{};
    flat::test::step_through(watched, {{0, UINTPTR_MAX}}, [&] {
        for (void *&block : blocks) block = malloc(100);
        std::thread([&] { free(blocks[3]); }).join();
        free(blocks[4]);
        blocks[4] = malloc(100);
        flat::test::watch(true);
        free(blocks[4]);
        blocks[4] = malloc(100);
        flat::test::watch(false);
    });
    return watched;
}

bool says(const std::string &page, const std::vector<flat::test::Watched> &counted) {
    std::smatch found;
    return std::regex_search(page, found, std::regex("(\\d+) instructions for a malloc, (\\d+) for a free")) &&
           std::stoull(found[1]) == counted[0].most && std::stoull(found[2]) == counted[1].most;
}

TEST(malloc_usual, calls_take_what_the_manual_says) {
    std::vector<flat::test::Watched> counted;
    try {
        counted = count_usual_calls();
    } catch (const flat::test::CannotTrace &why) {
        GTEST_SKIP() << why.what();
    }
    ASSERT_EQ(counted[0].calls, 6U);
    ASSERT_EQ(counted[1].calls, 6U);
    std::ostringstream page;
    page << std::ifstream(FLATLINE_PAGE).rdbuf();
    EXPECT_TRUE(says(page.str(), counted)) << counted[0].most << " and " << counted[1].most;
    counted[1].most++;
    EXPECT_FALSE(says(page.str(), counted));
}

TEST(malloc_usual, one_free_by_another_thread_does_not_close_the_path_of_its_page) {
    try {
        const std::vector<flat::test::Watched> usual = count_usual_calls(), after = count_calls_after_a_remote_free();
        ASSERT_EQ(after[0].calls, 1U);
        ASSERT_EQ(after[1].calls, 1U);
        EXPECT_EQ(after[0].most, usual[0].most);
        EXPECT_EQ(after[1].most, usual[1].most);
    } catch (const flat::test::CannotTrace &why) {
        GTEST_SKIP() << why.what();
    }
}

} // namespace
