// Checks each function of the C interface against the words of C11, C23, POSIX and glibc's manual.
#include "os/child.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <malloc.h>
#include <set>
#include <string>
#include <vector>

extern "C" {
void free_sized(void *block, std::size_t size);
void free_aligned_sized(void *block, std::size_t alignment, std::size_t size);
}

namespace {

bool is_multiple(const void *address, std::size_t of) { return reinterpret_cast<std::uintptr_t>(address) % of == 0; }

bool is_filled(const void *block, unsigned char with, std::size_t size) {
    const auto *bytes = static_cast<const unsigned char *>(block);
    for (std::size_t i = 0; i < size; i++) {
        if (bytes[i] != with) return false;
    }
    return true;
}

// Small, large and huge sizes, and their neighbours.
const std::vector<std::size_t> sizes{
    1,    2,    8,     15,    16,    17,    127,     128,           129,     1000,         4095,
    4096, 4097, 16383, 16384, 16385, 40000, 1 << 20, (1 << 20) + 1, 5 << 20, (9 << 20) + 1};

TEST(malloc_interface, is_served_by_this_library) {
    Dl_info info{};
    ASSERT_NE(dladdr(reinterpret_cast<void *>(&malloc), &info), 0);
    EXPECT_NE(std::string(info.dli_fname).find("libflatline-malloc.so"), std::string::npos) << info.dli_fname;
}

TEST(malloc_interface, blocks_are_aligned_and_as_large_as_is_said) {
    for (const std::size_t size : sizes) {
        void *block = malloc(size);
        ASSERT_NE(block, nullptr) << size;
        EXPECT_TRUE(is_multiple(block, 16)) << size;
        const std::size_t usable = malloc_usable_size(block);
        EXPECT_GE(usable, size);
        std::memset(block, 0xa5, usable);
        EXPECT_TRUE(is_filled(block, 0xa5, usable));
        free(block);
    }
}

TEST(malloc_interface, nothing_is_a_block_of_its_own) {
    void *a = malloc(0), *b = malloc(0);
    EXPECT_NE(a, nullptr);
    EXPECT_NE(b, nullptr);
    EXPECT_NE(a, b);
    free(a);
    free(b);
    free(nullptr);
    EXPECT_EQ(malloc_usable_size(nullptr), 0U);
}

TEST(malloc_interface, calloc_gives_zeros_where_something_was_before) {
    for (const std::size_t size : sizes) {
        for (int again = 0; again < 3; again++) {
            void *block = calloc(1, size);
            ASSERT_NE(block, nullptr);
            EXPECT_TRUE(is_filled(block, 0, size)) << size << ", time " << again;
            std::memset(block, 0xff, malloc_usable_size(block));
            free(block);
        }
    }
}

TEST(malloc_interface, what_overflows_is_refused_with_enomem) {
    volatile std::size_t half = SIZE_MAX / 2 + 2;
    errno = 0;
    EXPECT_EQ(calloc(half, 2), nullptr);
    EXPECT_EQ(errno, ENOMEM);
    errno = 0;
    EXPECT_EQ(reallocarray(nullptr, half, 2), nullptr);
    EXPECT_EQ(errno, ENOMEM);
    for (const std::size_t size : {SIZE_MAX, SIZE_MAX - 4096, static_cast<std::size_t>(PTRDIFF_MAX) + 1,
                                   static_cast<std::size_t>(PTRDIFF_MAX), std::size_t{1} << 46}) {
        errno = 0;
        EXPECT_EQ(malloc(size), nullptr);
        EXPECT_EQ(errno, ENOMEM);
        errno = 0;
        EXPECT_EQ(aligned_alloc(64, size), nullptr);
        EXPECT_EQ(errno, ENOMEM);
        errno = 0;
        EXPECT_EQ(pvalloc(size), nullptr);
        EXPECT_EQ(errno, ENOMEM);
    }
}

TEST(malloc_interface, a_refused_realloc_leaves_the_block) {
    void *block = malloc(100);
    std::memset(block, 7, 100);
    EXPECT_EQ(realloc(block, SIZE_MAX / 2), nullptr);
    EXPECT_TRUE(is_filled(block, 7, 100));
    free(block);
}

TEST(malloc_interface, realloc_keeps_what_both_sizes_hold) {
    for (const std::size_t from : sizes) {
        for (const std::size_t to : sizes) {
            auto *block = static_cast<unsigned char *>(malloc(from));
            std::memset(block, 0x3c, from);
            block = static_cast<unsigned char *>(realloc(block, to));
            ASSERT_NE(block, nullptr);
            EXPECT_TRUE(is_multiple(block, 16));
            EXPECT_GE(malloc_usable_size(block), to);
            EXPECT_TRUE(is_filled(block, 0x3c, from < to ? from : to)) << from << " to " << to;
            std::memset(block, 0x5a, to);
            free(block);
        }
    }
}

TEST(malloc_interface, realloc_of_nothing_and_to_nothing) {
    void *block = realloc(nullptr, 40);
    ASSERT_NE(block, nullptr);
    EXPECT_EQ(realloc(block, 0), nullptr); // this frees the block, as in glibc
}

TEST(malloc_interface, alignments_are_kept_from_8_bytes_to_64_mib) {
    for (std::size_t alignment = sizeof(void *); alignment <= std::size_t{64} << 20; alignment *= 2) {
        for (const std::size_t size : sizes) {
            void *posix = nullptr;
            ASSERT_EQ(posix_memalign(&posix, alignment, size), 0);
            EXPECT_TRUE(is_multiple(posix, alignment)) << alignment << ' ' << size;
            void *c = aligned_alloc(alignment, size), *old = memalign(alignment, size);
            EXPECT_TRUE(is_multiple(c, alignment)) << alignment << ' ' << size;
            EXPECT_TRUE(is_multiple(old, alignment)) << alignment << ' ' << size;
            for (void *block : {posix, c, old}) {
                ASSERT_NE(block, nullptr);
                EXPECT_GE(malloc_usable_size(block), size);
                std::memset(block, 1, size);
            }
            free(posix);
            free_aligned_sized(c, alignment, size);
            free(old);
        }
    }
}

TEST(malloc_interface, wrong_alignments_are_refused_with_einval) {
    int nothing = 0;
    void *block = &nothing;
    for (const std::size_t alignment : {std::size_t{0}, std::size_t{4}, std::size_t{24}, std::size_t{33}}) {
        errno = 0;
        EXPECT_EQ(posix_memalign(&block, alignment, 10), EINVAL);
        EXPECT_EQ(block, &nothing) << "left as it was";
        EXPECT_EQ(errno, 0) << "posix_memalign does not set it";
    }
    for (const std::size_t alignment : {std::size_t{0}, std::size_t{24}, std::size_t{33}}) {
        errno = 0;
        EXPECT_EQ(aligned_alloc(alignment, 10), nullptr);
        EXPECT_EQ(errno, EINVAL);
    }
    errno = 0;
    EXPECT_EQ(posix_memalign(&block, 64, SIZE_MAX / 2), ENOMEM);
    EXPECT_EQ(errno, 0);
}

// memalign does as glibc's. C11 leaves this open and has aligned_alloc refuse such alignments.
TEST(malloc_interface, memalign_rounds_alignments_up) {
    for (const std::size_t alignment : {0UL, 1UL, 3UL, 8UL, 15UL, 17UL, 24UL, 33UL, 100UL, 4095UL, 4097UL, 5000000UL}) {
        std::size_t rounded = 16;
        while (rounded < alignment) rounded *= 2;
        for (const std::size_t size : {0UL, 1UL, 100UL, 5000UL, 2000000UL}) {
            errno = 0;
            void *block = memalign(alignment, size);
            ASSERT_NE(block, nullptr) << alignment << ' ' << size;
            EXPECT_TRUE(is_multiple(block, rounded)) << alignment << ' ' << size;
            EXPECT_EQ(errno, 0);
            free(block);
        }
    }
    for (const std::size_t alignment : {SIZE_MAX / 2 + 2, SIZE_MAX}) {
        errno = 0;
        EXPECT_EQ(memalign(alignment, 10), nullptr);
        EXPECT_EQ(errno, EINVAL) << "there is no such power of two";
    }
    const volatile std::size_t largest = SIZE_MAX / 2 + 1;
    errno = 0;
    EXPECT_EQ(memalign(largest, 10), nullptr);
    EXPECT_EQ(errno, ENOMEM);
}

TEST(malloc_interface, pages_begin_at_pages) {
    for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{4096}, std::size_t{4097}}) {
        void *a = valloc(size), *b = pvalloc(size);
        EXPECT_TRUE(is_multiple(a, 4096));
        EXPECT_TRUE(is_multiple(b, 4096));
        EXPECT_GE(malloc_usable_size(b), (size + 4095) / 4096 * 4096);
        free(a);
        free(b);
    }
}

TEST(malloc_interface, sized_frees_are_frees) {
    free_sized(malloc(123), 123);
    free_sized(nullptr, 1);
    free_aligned_sized(nullptr, 16, 1);
}

TEST(malloc_interface, success_and_free_leave_errno) {
    errno = 4711;
    for (const std::size_t size : sizes) {
        void *block = malloc(size);
        block = realloc(block, size + 1);
        free(block);
        free(calloc(1, size));
        free(aligned_alloc(4096, size));
    }
    EXPECT_EQ(errno, 4711);
}

// Blocks of one size do not overlap, and all of their bytes can be used at once.
TEST(malloc_interface, live_blocks_do_not_overlap) {
    for (const std::size_t size : sizes) {
        std::vector<void *> blocks(size < 100000 ? 300 : 10);
        std::set<std::uintptr_t> starts;
        for (void *&block : blocks) {
            block = malloc(size);
            ASSERT_NE(block, nullptr);
            std::memset(block, static_cast<int>(starts.size() & 255), malloc_usable_size(block));
            starts.insert(reinterpret_cast<std::uintptr_t>(block));
        }
        ASSERT_EQ(starts.size(), blocks.size());
        for (std::size_t i = 0; i < blocks.size(); i++) {
            ASSERT_TRUE(is_filled(blocks[i], static_cast<unsigned char>(i & 255), malloc_usable_size(blocks[i])));
            free(blocks[i]);
        }
    }
}

// Like glibc's, it shrinks in place: to another class, to fewer pages, by a few bytes.
TEST(malloc_interface, a_realloc_that_shrinks_succeeds_without_memory) {
    for (const std::size_t size : {16000UL, 100000UL, 3000000UL}) {
        EXPECT_EQ(test::in_child([=] {
                      static std::array<char *, 100000> blocks; // other tests have left many free
                      const rlimit limit{std::size_t{64} << 20, std::size_t{64} << 20};
                      DEMAND(setrlimit(RLIMIT_DATA, &limit) == 0);
                      std::size_t count = 0;
                      while ((blocks[count] = static_cast<char *>(malloc(size))) != nullptr) {
                          blocks[count++][100] = 7;
                          DEMAND(count < blocks.size());
                      }
                      while (malloc(200) != nullptr) continue;
                      errno = 0;
                      for (std::size_t i = 0; i < count && i < 100; i++) {
                          char *shrunk = static_cast<char *>(realloc(blocks[i], i % 2 != 0 ? size / (i + 1) : 101 + i));
                          DEMAND(shrunk != nullptr && shrunk[100] == 7 && errno == 0);
                          blocks[i] = shrunk;
                      }
                      for (std::size_t i = 0; i < count; i++) free(blocks[i]);
                      return 0;
                  }),
                  0)
            << size;
    }
}

TEST(malloc_interface, out_of_memory_is_said_and_passes) {
    EXPECT_EQ(test::in_child([] {
                  std::vector<void *> blocks(1 << 20);
                  const rlimit limit{std::size_t{1} << 30, std::size_t{1} << 30};
                  DEMAND(setrlimit(RLIMIT_AS, &limit) == 0);
                  errno = 0;
                  DEMAND(malloc(std::size_t{1} << 45) == nullptr && errno == ENOMEM);
                  void *still = malloc(1000);
                  DEMAND(still != nullptr);
                  free(still);
                  return 0;
              }),
              0);
}

} // namespace
