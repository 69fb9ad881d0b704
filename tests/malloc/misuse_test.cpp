// Frees of pointers that are no live blocks: each stops the program at that very call, with one line that says why.
#include "os/child.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <functional>
#include <malloc.h>
#include <string>
#include <sys/mman.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

struct ending {
    int status; // the exit status
    bool aborted;
    std::string said;
};

ending in_child_of(const std::function<void()> &act) {
    std::array<int, 2> ends{};
    if (pipe(ends.data()) != 0) return {};
    const int status = test::in_child([&] {
        (void)dup2(ends[1], STDERR_FILENO);
        act();
        return 0;
    });
    (void)close(ends[1]);
    std::array<char, 4096> text{};
    const ssize_t length = read(ends[0], text.data(), text.size());
    (void)close(ends[0]);
    return {status, status == 128 + SIGABRT,
            std::string(text.data(), static_cast<std::size_t>(length > 0 ? length : 0))};
}

void expect_stopped(const char *why, const std::function<void()> &act) {
    const ending e = in_child_of(act);
    EXPECT_TRUE(e.aborted) << "expected: " << why;
    EXPECT_EQ(e.said.rfind("flatline-malloc: ", 0), 0U) << e.said;
    EXPECT_NE(e.said.find(why), std::string::npos) << e.said;
    EXPECT_EQ(e.said.find('\n'), e.said.size() - 1) << "one line";
}

char *block(std::size_t size) { return static_cast<char *>(malloc(size)); }

const std::vector<std::size_t> sizes{1, 16, 64, 1000, 16384, 16385, 100000, 1 << 20, (1 << 20) + 1, 5 << 20, 50 << 20};

TEST(malloc_misuse, a_double_free_is_stopped) {
    for (const std::size_t size : sizes) {
        expect_stopped("double free", [=] {
            char *a = block(size);
            free(a);
            free(a);
        });
    }
}

TEST(malloc_misuse, a_double_free_is_stopped_after_frees_of_others) {
    for (const std::size_t size : sizes) {
        if (size > 100000) continue;
        expect_stopped("double free", [=] {
            std::vector<char *> all(200);
            for (char *&a : all) a = block(size);
            for (char *a : all) free(a);
            free(all[3]);
        });
    }
}

TEST(malloc_misuse, an_interior_pointer_is_stopped) {
    for (const std::size_t size : sizes) {
        if (size < 32) continue;
        for (const std::size_t at : {std::size_t{1}, std::size_t{8}, std::size_t{16}, size / 2, size - 1}) {
            expect_stopped("interior pointer", [=] { free(block(size) + at); });
        }
    }
}

TEST(malloc_misuse, a_foreign_pointer_is_stopped) {
    static std::array<char, 64> of_the_program;
    expect_stopped("foreign pointer", [] { free(of_the_program.data()); });
    expect_stopped("foreign pointer", [] {
        std::array<char, 64> of_the_stack{};
        free(of_the_stack.data());
    });
    expect_stopped("foreign pointer",
                   [] { free(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)); });
    expect_stopped("foreign pointer", [] { free(reinterpret_cast<void *>(16)); });
    expect_stopped("foreign pointer", [] { free(block(16) + (std::size_t{300} << 20)); });
}

TEST(malloc_misuse, what_was_never_handed_out_is_stopped) {
    expect_stopped("double free", [] { free(block(64) + 64 * 100); });
}

TEST(malloc_misuse, realloc_and_usable_size_are_stopped_too) {
    for (const std::size_t size : sizes) {
        expect_stopped("use after free: no block is live there", [=] {
            char *a = block(size);
            free(a);
            (void)!realloc(a, 100);
        });
        expect_stopped("use after free: no block is live there", [=] {
            char *a = block(size);
            free(a);
            (void)malloc_usable_size(a);
        });
    }
    expect_stopped("realloc(", [] {
        char *a = block(64);
        free(a);
        (void)!realloc(a, 100);
    });
    expect_stopped("realloc(", [] {
        char *a = block(64);
        free(a);
        (void)!reallocarray(a, 10, 100);
    });
    expect_stopped("malloc_usable_size(", [] { (void)malloc_usable_size(block(64) + 16); });
    expect_stopped("(blocks of 64 bytes)", [] { free(block(64) + 16); });
}

// Frees addresses inside blocks of each size class. None is a block's start, whatever its last bits are. Each refusal
// is reported in one line and changes nothing.
TEST(malloc_misuse, no_address_inside_a_block_is_taken_for_its_start) {
    EXPECT_EQ(test::in_child([] {
                  std::FILE *said = std::tmpfile();
                  (void)fcntl(fileno(said), F_SETFL, O_APPEND);
                  (void)dup2(fileno(said), STDERR_FILENO);
                  (void)setenv("FLATLINE_MISUSE", "report", 1);
                  long frees = 0;
                  for (std::size_t size = 16; size <= 16384; size += size / 8 / 16 * 16 + 16) {
                      char *a = block(size), *b = block(size);
                      free(a); // so that addresses inside a freed block are tested, too
                      for (std::size_t at = 8; at < size; at += 8, frees += 2) {
                          free(a + at);
                          free(b + at);
                      }
                      for (std::size_t at = 1; at < 8; at++, frees++) free(b + at);
                      if (malloc_usable_size(b) < size) return 1;
                      free(b);
                  }
                  long lines = 0;
                  std::rewind(said);
                  for (int c; (c = std::fgetc(said)) != EOF;) lines += c == '\n' ? 1 : 0;
                  return lines == frees ? 0 : 2;
              }),
              0);
}

// A thread that frees what it is told to. Nothing else is allocated or freed while it lives.
class freeing_thread {
  public:
    freeing_thread() : thread_([this] { work(); }) {}
    ~freeing_thread() {
        ended_ = true;
        thread_.join();
    }
    freeing_thread(const freeing_thread &) = delete;
    freeing_thread &operator=(const freeing_thread &) = delete;

    void release(void *what) {
        next_ = what;
        while (next_ != nullptr) std::this_thread::yield();
    }

  private:
    void work() {
        while (!ended_) {
            if (void *what = next_) {
                free(what);
                next_ = nullptr;
            }
            std::this_thread::yield();
        }
    }

    std::atomic<void *> next_ = nullptr;
    std::atomic<bool> ended_ = false;
    std::thread thread_;
};

TEST(malloc_misuse, a_double_free_is_stopped_across_threads) {
    for (const std::size_t size : sizes) {
        expect_stopped("double free", [=] { // by another thread, then by its owner
            freeing_thread other;
            char *a = block(size);
            other.release(a);
            free(a);
        });
        expect_stopped("double free", [=] { // by its owner, then by another thread
            freeing_thread other;
            char *a = block(size);
            free(a);
            other.release(a);
        });
        expect_stopped("double free", [=] { // by two other threads
            freeing_thread other, another;
            char *a = block(size);
            other.release(a);
            another.release(a);
        });
    }
}

// A thread that frees a block and then allocates one of its size. It gets the same block, which is in its cache, and
// frees that when it is told to.
class recycling_thread {
  public:
    recycling_thread(void *block, std::size_t size) : thread_([this, block, size] { work(block, size); }) {
        while (!recycled_) std::this_thread::yield();
    }
    ~recycling_thread() {
        may_end_ = true;
        thread_.join();
    }
    recycling_thread(const recycling_thread &) = delete;
    recycling_thread &operator=(const recycling_thread &) = delete;

  private:
    void work(void *block, std::size_t size) {
        for (int i = 0; i < 100; i++) free(malloc(size)); // gives the thread a heap of its own
        free(block);
        void *again = malloc(size);
        if (again != block) (void)std::fputs("another block was handed out\n", stderr);
        recycled_ = true;
        while (!may_end_) std::this_thread::yield();
        free(again);
    }

    std::atomic<bool> recycled_ = false, may_end_ = false;
    std::thread thread_;
};

// Once a block has been handed out again, a second free cannot be told from the new owner's. The new owner's own free
// is then the second one, and is stopped.
TEST(malloc_misuse, a_free_that_comes_when_the_block_is_anothers_is_that_ones) {
    constexpr std::size_t size = 200;
    expect_stopped("double free", [] { // by its owner, then by another thread
        freeing_thread other;
        char *a = block(size);
        free(a);
        char *again = block(size);
        if (again != a) (void)std::fputs("another block was handed out\n", stderr);
        other.release(a);
        free(again);
    });
    expect_stopped("double free", [] { // by another thread, then by its owner
        char *a = block(size);
        recycling_thread other(a, size);
        free(a);
    });
    expect_stopped("double free", [] { // by two other threads
        freeing_thread another;
        char *a = block(size);
        recycling_thread other(a, size);
        another.release(a);
    });
}

TEST(malloc_misuse, a_double_free_is_stopped_when_the_owner_has_taken_the_block_back) {
    expect_stopped("double free", [] {
        freeing_thread other;
        std::vector<char *> all(500);
        char *a = block(5000);
        (void)block(5000); // keeps their span in use
        other.release(a);
        for (char *&b : all) b = block(40);
        free(a);
    });
}

TEST(malloc_misuse, a_block_of_a_thread_that_ended_is_freed_once) {
    expect_stopped("double free", [] {
        char *a = nullptr;
        std::thread([&] { a = block(5000); }).join();
        free(a);
        free(a);
    });
}

// The line names the call's address in the form that addr2line takes.
TEST(malloc_misuse, the_line_says_where_the_call_was) {
    const auto free_twice = [] {
        char *a = block(64);
        free(a);
        free(a);
    };
    const ending e = in_child_of(free_twice);
    EXPECT_NE(e.said.find("flatline-malloc: free("), std::string::npos) << e.said;
    EXPECT_NE(e.said.find("_test+0x"), std::string::npos) << e.said;
    expect_stopped(", called from ", [] { (void)!realloc(block(64) + 16, 100); });
    expect_stopped(", called from ", [] { (void)malloc_usable_size(block(64) + 16); });
    expect_stopped(", called from ", [] { operator delete(block(64) + 16); });
}

std::size_t lines_in(const std::string &text) {
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

// With FLATLINE_MISUSE=report the malloc says the same but changes nothing: the program goes on with all its blocks.
TEST(malloc_misuse, may_be_reported_only) {
    const ending e = in_child_of([] {
        (void)setenv("FLATLINE_MISUSE", "report", 1);
        char *a = block(64), *huge = block(5 << 20), *other = block(64);
        free(a);
        free(a);
        free(other + 16);
        free(reinterpret_cast<void *>(16));
        free(huge);
        free(huge);
        errno = 0;
        if (realloc(other + 16, 100) != nullptr || errno != EINVAL) _exit(1);
        if (malloc_usable_size(other + 16) != 0) _exit(2);
        char *b = block(64), *c = block(64);
        if (b == c || b == other || c == other) _exit(3);
        free(b);
        free(c);
        free(other);
    });
    EXPECT_FALSE(e.aborted) << e.said;
    EXPECT_EQ(e.status, 0) << e.said;
    EXPECT_EQ(lines_in(e.said), 6U) << e.said;
}

// Makes wrong calls that are only reported, with standard error set up by `become`. Returns 0 if all went as it should.
int misuse_with(const std::function<void()> &become) {
    return test::in_child([&] {
        (void)setenv("FLATLINE_MISUSE", "report", 1);
        become();
        char *a = block(64);
        free(a);
        errno = 4711;
        free(a);
        if (malloc_usable_size(a) != 0 || errno != 4711) return 1;
        if (realloc(a, 100) != nullptr || errno != EINVAL) return 2;
        free(block(64));
        return 0;
    });
}

TEST(malloc_misuse, reported_only_goes_on_where_nobody_can_be_told) {
    EXPECT_EQ(misuse_with([] { (void)close(STDERR_FILENO); }), 0) << "closed";
    EXPECT_EQ(misuse_with([] {
                  const int full = open("/dev/full", O_WRONLY);
                  (void)dup2(full, STDERR_FILENO);
              }),
              0)
        << "a full device";
    EXPECT_EQ(misuse_with([] {
                  const int readable = open("/dev/null", O_RDONLY);
                  (void)dup2(readable, STDERR_FILENO);
              }),
              0)
        << "not to be written to";
    EXPECT_EQ(misuse_with([] {
                  std::array<int, 2> ends{};
                  (void)!pipe(ends.data());
                  (void)dup2(ends[1], STDERR_FILENO);
                  (void)close(ends[0]);
              }),
              0)
        << "a pipe without a reader, which sends SIGPIPE";
    for (const int flags : {0, O_NONBLOCK}) {
        EXPECT_EQ(misuse_with([=] {
                      std::array<int, 2> ends{};
                      (void)!pipe2(ends.data(), O_NONBLOCK);
                      const std::vector<char> much(4096);
                      while (write(ends[1], much.data(), much.size()) > 0) continue;
                      (void)fcntl(ends[1], F_SETFL, flags);
                      (void)alarm(5); // rather than wait for ever
                      (void)dup2(ends[1], STDERR_FILENO);
                  }),
                  0)
            << "a pipe that is full";
    }
}

TEST(malloc_misuse, a_broken_pipe_leaves_no_signal_behind_and_takes_none_away) {
    for (const bool is_pending : {false, true}) {
        EXPECT_EQ(misuse_with([=] {
                      sigset_t pipe_signal;
                      (void)sigemptyset(&pipe_signal);
                      (void)sigaddset(&pipe_signal, SIGPIPE);
                      (void)sigprocmask(SIG_BLOCK, &pipe_signal, nullptr);
                      if (is_pending) (void)raise(SIGPIPE);
                      std::array<int, 2> ends{};
                      (void)!pipe(ends.data());
                      (void)dup2(ends[1], STDERR_FILENO);
                      (void)close(ends[0]);
                      free(reinterpret_cast<void *>(16));
                      sigset_t pending;
                      (void)sigpending(&pending);
                      if ((sigismember(&pending, SIGPIPE) == 1) != is_pending) _exit(3);
                  }),
                  0)
            << is_pending;
    }
}

// Opens a file as standard error, by chance or (O_APPEND) on purpose, frees a bad pointer, and returns the file's
// content.
std::string written_to_file(int flags, bool stopped) {
    std::string name = testing::TempDir() + "/flatline_misuse_XXXXXX";
    (void)close(mkstemp(name.data()));
    const int status = test::in_child([&] {
        if (!stopped) (void)setenv("FLATLINE_MISUSE", "report", 1);
        (void)close(STDERR_FILENO);
        if (open(name.c_str(), O_WRONLY | flags) != STDERR_FILENO) return 1;
        free(reinterpret_cast<void *>(16));
        return 0;
    });
    EXPECT_EQ(status, stopped ? 128 + SIGABRT : 0);
    std::array<char, 1000> text{};
    std::FILE *file = std::fopen(name.c_str(), "r");
    const std::size_t length = std::fread(text.data(), 1, text.size(), file);
    (void)std::fclose(file);
    (void)unlink(name.c_str());
    return std::string(text.data(), length);
}

TEST(malloc_misuse, nothing_is_written_into_a_file_that_took_the_place_of_standard_error) {
    EXPECT_EQ(written_to_file(0, false), "");
    EXPECT_EQ(written_to_file(0, true), "") << "the program is stopped all the same";
    EXPECT_EQ(lines_in(written_to_file(O_APPEND, false)), 1U) << "a log";
    EXPECT_EQ(misuse_with([] {
                  std::array<int, 2> ends{};
                  (void)!socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data());
                  (void)dup2(ends[1], STDERR_FILENO);
                  free(reinterpret_cast<void *>(16));
                  std::array<char, 10> text{};
                  if (recv(ends[0], text.data(), text.size(), MSG_DONTWAIT) >= 0) _exit(3);
              }),
              0)
        << "a connection";
}

TEST(malloc_misuse, reported_only_leaves_blocks_of_others_whole) {
    const ending e = in_child_of([] {
        (void)setenv("FLATLINE_MISUSE", "report", 1);
        freeing_thread other;
        char *a = block(5000);
        other.release(a);
        other.release(a);
        free(a);
        for (int i = 0; i < 1000; i++) free(block(5000));
    });
    EXPECT_EQ(e.status, 0) << e.said;
    EXPECT_EQ(lines_in(e.said), 2U) << e.said;
}

TEST(malloc_misuse, what_is_right_is_not_stopped) {
    const ending e = in_child_of([] {
        for (const std::size_t size : sizes) {
            freeing_thread other;
            other.release(block(size));
            free(block(size));
        }
    });
    EXPECT_FALSE(e.aborted) << e.said;
    EXPECT_EQ(e.said, "");
}

} // namespace
