// malloc_exhausted [threads]: allocates by every function until there is no memory, and checks that each fails as its
// standard says, harms nothing, and serves again once memory is freed; or, with `threads`, exhausts memory from several
// threads at once. Run it under a limit on address space or data (prlimit --as, --data) of some hundred MiB. Exit
// status 0: all checks hold.
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <latch>
#include <malloc.h>
#include <new>
#include <thread>
#include <vector>

namespace {

std::atomic<unsigned> objections;

void expect(bool holds, const char *what, std::size_t size) {
    if (holds) return;
    objections++;
    std::fprintf(stderr, "malloc_exhausted: with blocks of %zu bytes: %s\n", size, what);
}

// A list within the blocks, which allocates nothing.
struct link {
    link *next;
};

// Allocates blocks of a size until there are no more, and links them by their first words. Each is written at both
// ends.
link *take_all(std::size_t size, std::size_t &count) {
    link *first = nullptr;
    for (count = 0;; count++) {
        auto *taken = static_cast<link *>(malloc(size));
        if (taken == nullptr) return first;
        auto *bytes = reinterpret_cast<unsigned char *>(taken);
        std::memset(bytes, 7, sizeof(link));
        bytes[size - 1] = 7;
        taken->next = first;
        first = taken;
    }
}

void give_all(link *first) {
    while (first != nullptr) {
        link *next = first->next;
        free(first);
        first = next;
    }
}

template <typename Call> bool fails_with_enomem(Call call) {
    errno = 0;
    return call() == nullptr && errno == ENOMEM;
}

constexpr std::size_t more = std::size_t{1} << 30; // more than there is in pieces of any size

void every_call_fails(link *block, std::size_t size) {
    expect(fails_with_enomem([=] { return malloc(size); }), "malloc does not fail with ENOMEM", size);
    expect(fails_with_enomem([=] { return calloc(1, size); }), "calloc does not", size);
    expect(fails_with_enomem([=] { return aligned_alloc(64, more); }), "aligned_alloc does not", size);
    expect(fails_with_enomem([=] { return memalign(4096, more); }), "memalign does not", size);
    expect(fails_with_enomem([=] { return valloc(more); }), "valloc does not", size);
    expect(fails_with_enomem([=] { return pvalloc(more); }), "pvalloc does not", size);
    void *untouched = &objections;
    errno = 0;
    expect(posix_memalign(&untouched, 64, more) == ENOMEM && untouched == &objections && errno == 0,
           "posix_memalign does not return ENOMEM and leave the rest", size);
    const link was = *block;
    expect(fails_with_enomem([=] { return realloc(block, more); }), "realloc does not", size);
    expect(fails_with_enomem([=] { return reallocarray(block, 2, more); }), "reallocarray does not", size);
    expect(block->next == was.next && reinterpret_cast<unsigned char *>(block)[size - 1] == 7,
           "a realloc that failed has changed the block", size);
    expect(malloc_usable_size(block) >= size, "a realloc that failed has freed the block", size);
    expect(::operator new(size, std::nothrow) == nullptr, "new (nothrow) does not return nothing", size);
    bool thrown = false;
    try {
        ::operator delete(::operator new(size));
    } catch (const std::bad_alloc &) {
        thrown = true;
    }
    expect(thrown, "new does not throw", size);
}

// Shrinks blocks to another class, by pages, or by a few bytes. Nothing is freed meanwhile, so no block can be
// allocated.
link *every_block_shrinks(link *first, std::size_t size) {
    link *kept = nullptr;
    std::size_t to = size - 1;
    for (int i = 0; i < 200 && first != nullptr; i++, to = to / 2 > sizeof(link) ? to / 2 : size - 1) {
        link *next = first->next;
        errno = 4711;
        auto *shrunk = static_cast<link *>(realloc(first, to));
        expect(shrunk != nullptr && errno == 4711, "a realloc that shrinks fails, or changes errno", size);
        if (shrunk == nullptr) shrunk = first;
        expect(shrunk->next == next, "a realloc that shrinks has changed the block", size);
        shrunk->next = kept;
        kept = shrunk;
        first = next;
    }
    while (kept != nullptr) {
        link *next = kept->next;
        kept->next = first;
        first = kept;
        kept = next;
    }
    return first;
}

void exhaust(std::size_t size) {
    std::size_t first_time = 0, second_time = 0;
    link *blocks = take_all(size, first_time);
    expect(blocks != nullptr, "there was no memory at all", size);
    if (blocks == nullptr) return;
    every_call_fails(blocks, size);
    blocks = every_block_shrinks(blocks, size);
    link *one = blocks;
    blocks = blocks->next;
    free(one);
    void *again = malloc(size);
    expect(again != nullptr, "what was freed does not serve again", size);
    free(again);
    give_all(blocks);
    blocks = take_all(size, second_time);
    expect(second_time >= first_time * 9 / 10, "less can be had the second time", size);
    give_all(blocks);
}

// Each thread allocates blocks of its own size. All threads exist before the first one begins, since stacks take
// memory, too.
void from_all_sides() {
    constexpr std::array<std::size_t, 4> sizes{100, 3000, 50000, 2000000};
    std::latch all(sizes.size());
    std::vector<std::thread> threads;
    for (const std::size_t size : sizes) {
        threads.emplace_back([&all, size] {
            all.arrive_and_wait();
            for (int round = 0; round < 5; round++) {
                std::size_t taken = 0;
                give_all(take_all(size, taken));
            }
        });
    }
    for (std::thread &thread : threads) thread.join();
    void *afterwards = malloc(100);
    expect(afterwards != nullptr, "what threads have freed serves nobody", 100);
    free(afterwards);
}

} // namespace

int main(int count, char **) {
    if (count > 1) {
        from_all_sides();
    } else {
        // The largest size goes first: memory used for small blocks stays with them.
        for (const std::size_t size : {5000000UL, 100000UL, 5000UL, 64UL}) exhaust(size);
    }
    std::printf("every call has failed as it should, %u objections\n", objections.load());
    return objections == 0 ? 0 : 1;
}
