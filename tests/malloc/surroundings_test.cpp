// The malloc amid the other events of a process: signals, cancelled threads, libraries that are loaded and unloaded,
// and what runs after main.
#include "exchange.hpp"

#include "core/environment.hpp"
#include "os/child.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <string>
#include <sys/time.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

void *kept;
std::atomic<unsigned> signals, wrong_sizes;

// Reads a size but does not allocate or free, which no signal handler may.
void on_signal(int) {
    const int error = errno;
    if (malloc_usable_size(kept) < 100) wrong_sizes++;
    signals++;
    errno = error;
}

TEST(malloc_surroundings, signals_in_the_middle_of_calls_change_nothing) {
    const std::uint64_t seed = test::seed();
    SCOPED_TRACE(testing::Message() << "FLATLINE_TEST_SEED=" << seed);
    kept = malloc(100);
    struct sigaction handler{}, before{};
    handler.sa_handler = on_signal;
    handler.sa_flags = SA_RESTART;
    ASSERT_EQ(sigaction(SIGALRM, &handler, &before), 0);
    const itimerval often{{0, 100}, {0, 100}}, never{}; // microseconds
    ASSERT_EQ(setitimer(ITIMER_REAL, &often, nullptr), 0);
    static test::places at;
    std::atomic<std::size_t> spoilt = 0;
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < 3; i++) {
        threads.emplace_back([&, i] {
            for (unsigned round = 0; round < 1000 && (round < 20 || signals < 1000); round++)
                spoilt += test::exchange(at, seed + 100 * round + i, 2000);
        });
    }
    for (std::thread &thread : threads) thread.join();
    (void)setitimer(ITIMER_REAL, &never, nullptr);
    (void)sigaction(SIGALRM, &before, nullptr);
    EXPECT_GE(signals, 1000U);
    EXPECT_EQ(wrong_sizes, 0U);
    EXPECT_EQ(spoilt, 0U);
    test::empty(at);
    free(kept);
}

// A cancelled thread holds this block. It is freed when the thread's stack is unwound.
class held {
  public:
    explicit held(std::size_t size) : block_(malloc(size)) { std::memset(block_, 5, size); }
    ~held() { free(block_); }
    held(const held &) = delete;
    held &operator=(const held &) = delete;

  private:
    void *block_;
};

void *until_cancelled(void *) {
    for (std::size_t size = 1;; size = size % 50000 * 3 + 1) {
        const held one(size), other(100);
        pthread_testcancel();
    }
}

TEST(malloc_surroundings, threads_are_cancelled_and_leave_nothing) {
    const std::size_t before = mallinfo2().uordblks;
    for (int round = 0; round < 200; round++) {
        std::array<pthread_t, 4> threads{};
        for (pthread_t &thread : threads) ASSERT_EQ(pthread_create(&thread, nullptr, until_cancelled, nullptr), 0);
        for (pthread_t &thread : threads) {
            void *result = nullptr;
            (void)pthread_cancel(thread);
            ASSERT_EQ(pthread_join(thread, &result), 0);
            EXPECT_EQ(result, PTHREAD_CANCELED);
        }
    }
    EXPECT_LE(mallinfo2().uordblks, before + 16384); // glibc keeps some memory of threads for later ones
}

TEST(malloc_surroundings, libraries_come_and_go) {
    for (int round = 0; round < 500; round++) {
        void *library = dlopen(FLATLINE_VISITOR, RTLD_NOW | RTLD_LOCAL);
        ASSERT_NE(library, nullptr) << dlerror();
        auto *make = reinterpret_cast<char *(*)(std::size_t)>(dlsym(library, "visitor_make"));
        ASSERT_NE(make, nullptr);
        char *block = nullptr;
        std::thread([&] { block = make(1000); }).join();
        ASSERT_EQ(dlclose(library), 0);
        EXPECT_STREQ(block, "visited");
        free(block);
    }
}

struct last_words {
    void *block = malloc(300);
    ~last_words() {
        free(block);
        free(malloc(500));
    }
};

TEST(malloc_surroundings, what_runs_after_main_allocates_and_frees) {
    EXPECT_EQ(test::in_child([] {
                  static const last_words of_the_process;
                  static void *taken = malloc(70000);
                  (void)std::atexit([] {
                      free(taken);
                      free(malloc(10 << 20));
                  });
                  std::thread([] {
                      thread_local const last_words of_the_thread;
                      (void)of_the_thread.block;
                  }).join();
                  thread_local const last_words of_the_first_thread;
                  (void)of_the_first_thread.block;
                  std::exit(of_the_process.block != nullptr ? 0 : 1);
                  return 1;
              }),
              0);
}

// Opened by a program with another malloc, the library serves callers that look it up by name, and accepts none of the
// other's blocks.
TEST(malloc_surroundings, may_be_opened_by_a_program_that_has_another) {
    Dl_info here{};
    ASSERT_NE(dladdr(reinterpret_cast<void *>(&malloc), &here), 0);
    const std::string other = std::string("exec env -u LD_PRELOAD " FLATLINE_OPENER " ") + here.dli_fname + " 2>&1";
    std::FILE *said = popen(other.c_str(), "r");
    ASSERT_NE(said, nullptr);
    std::array<char, 1000> text{};
    const std::size_t length = std::fread(text.data(), 1, text.size() - 1, said);
    const int status = pclose(said);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT) << status;
    EXPECT_NE(std::string(text.data(), length).find("served\nflatline-malloc: free("), std::string::npos)
        << text.data();
    EXPECT_NE(std::string(text.data(), length).find("foreign pointer"), std::string::npos) << text.data();
}

} // namespace
