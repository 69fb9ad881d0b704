// failing_round SEED OPERATIONS THREADS [FILTER main|exec]: allocates, resizes and frees at random, in threads that
// free each other's blocks and end, under any malloc, while its system calls may fail. Each block's content is checked
// by a pattern, and what calloc returns is checked in full. NULL is right only if the preloaded failing_calls.c made a
// call for memory fail during the same call in the same thread; everything must then be unchanged. Once nothing fails
// any longer, there must be memory again. With one thread, a run begins with the operations of any shorter run.
//
// FILTER names a filter of filtered_calls.c, installed in main, or before the program executes itself again. Exit
// status 0: all was right; 1: it was not, and standard error says how; 2: the program could not be run.
#include "core/random_source.hpp"
#include "failing_calls.h"
#include "filtered_calls.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <malloc.h>
#include <pthread.h>
#include <span>
#include <unistd.h>

extern "C" {
__attribute__((weak)) failing_record *failing_calls_record(void);
__attribute__((weak)) std::uint64_t failing_calls_denials(void);
__attribute__((weak)) std::uint64_t failing_calls_trespasses(void);
}

namespace {

constexpr std::size_t page = 4096, kib = 1024, mib = 1024 * kib;
constexpr std::size_t slots = 400, thread_max = 8, exchange_slots = 64;
constexpr std::size_t live_max = 96 * mib; // of all threads together

failing_record no_record;
failing_record *record = &no_record;

std::uint64_t denials() { return failing_calls_denials != nullptr ? failing_calls_denials() : 0; }

// Uses no stream, since that would allocate.
[[noreturn, gnu::format(printf, 1, 2)]] void object(const char *format, ...) {
    char line[300];
    std::va_list values;
    va_start(values, format);
    const int length = std::vsnprintf(line, sizeof line - 1, format, values);
    va_end(values);
    const std::size_t bytes = std::min(static_cast<std::size_t>(std::max(length, 0)), sizeof line - 2);
    line[bytes] = '\n';
    (void)!write(STDERR_FILENO, line, bytes + 1);
    _exit(1);
}

std::uint64_t pattern(std::uint64_t key, std::size_t word) {
    std::uint64_t z = key + word * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 32)) * 0xbf58476d1ce4e5b9u;
    return z ^ (z >> 29);
}

struct block {
    unsigned char *start = nullptr;
    std::size_t size = 0;
    std::uint64_t key = 0;
};

// Calls `each` with the parts of a block that are written: all of a small block; otherwise the first pages, the last
// page, and some bytes of each page in between.
template <typename Each> void for_written(std::size_t size, Each each) {
    each(std::size_t{0}, std::min(size, 8 * page));
    if (size <= 8 * page) return;
    for (std::size_t at = 8 * page; at < size; at += page) each(at, std::min(at + 16, size));
    each(size - page, size);
}

void fill(const block &of) {
    for_written(of.size, [&](std::size_t from, std::size_t to) {
        for (std::size_t at = from / 8 * 8; at < to; at += 8) {
            const std::uint64_t word = pattern(of.key, at / 8);
            std::memcpy(of.start + at, &word, std::min<std::size_t>(8, of.size - at));
        }
    });
}

// Compares the first `bytes` at `start` with what a block of that size and key was filled with.
void check(const block &of, const unsigned char *start, std::size_t bytes, const char *when) {
    for_written(of.size, [&](std::size_t from, std::size_t to) {
        to = std::min(to, bytes);
        for (std::size_t at = from / 8 * 8; at < to; at += 8) {
            const std::uint64_t word = pattern(of.key, at / 8);
            if (std::memcmp(start + at, &word, std::min<std::size_t>(8, bytes - at)) == 0) continue;
            object("%s, a block of %zu bytes at %p has lost what it held at byte %zu", when, of.size,
                   static_cast<const void *>(start), at);
        }
    });
}

void check(const block &of, const char *when) { check(of, of.start, of.size, when); }

void check_zero(const unsigned char *start, std::size_t bytes) {
    static const unsigned char zeros[page] = {};
    for (std::size_t at = 0; at < bytes; at += page) {
        if (std::memcmp(start + at, zeros, std::min(page, bytes - at)) == 0) continue;
        object("calloc of %zu bytes gives memory at %p that is not zero in the page at byte %zu", bytes,
               static_cast<const void *>(start), at);
    }
}

std::atomic<std::size_t> live_bytes;

// All threads put blocks here for others to take.
struct {
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    block blocks[exchange_slots];
} exchange;

// A thread's state, which the next thread of the same number takes over.
struct share {
    test::random_source random{0};
    block blocks[slots];
    std::uint64_t keys = 0;
    std::size_t operations = 0;
    unsigned mix = 0;
};
share shares[thread_max];

// Accepts NULL only if a call for memory has failed since `before`, during this call.
void accept_null(std::uint64_t before, const char *call, std::size_t size) {
    if (denials() == before) object("%s of %zu bytes gives NULL, and no call for memory has failed", call, size);
    if (errno != ENOMEM) object("%s of %zu bytes gives NULL with errno %d", call, size, errno);
    (void)__atomic_fetch_add(&record->nulls, 1, __ATOMIC_RELAXED);
}

class worker {
  public:
    explicit worker(share &mine) : mine_(mine), random_(mine.random) {}

    void run(std::size_t operations) {
        for (std::size_t i = 0; i < operations; i++) {
            (void)__atomic_fetch_add(&record->operations, 1, __ATOMIC_RELAXED);
            step();
        }
    }

    void check_all() {
        for (const block &each : mine_.blocks) {
            if (each.start != nullptr) check(each, "looked at later");
        }
    }

    void free_all() {
        for (block &each : mine_.blocks) {
            if (each.start != nullptr) release(each);
        }
    }

  private:
    // Depends on the mix of the round: mostly small sizes, more large ones, or huge ones among the others.
    std::size_t next_size() {
        const std::uint64_t kind = random_.below(1000);
        const std::uint64_t huge[] = {1, 4, 30, 400}, large[] = {10, 300, 500, 900};
        std::size_t size = 0;
        if (kind < huge[mine_.mix]) {
            size = mib / 2 + random_.magnitude(64 * mib - mib / 2);
        } else if (kind < large[mine_.mix]) {
            size = random_.magnitude(mib);
        } else {
            size = random_.magnitude(40 * kib);
        }
        return live_bytes + size > live_max ? 1 + size % 1000 : size;
    }

    void own(block &place, unsigned char *start, std::size_t size) {
        place = {start, size, pattern(++mine_.keys, 77)};
        live_bytes += size;
        if (malloc_usable_size(start) < size) object("malloc_usable_size of %zu bytes is less than that", size);
        fill(place);
    }

    void allocate(block &place) {
        const std::size_t size = next_size();
        const std::uint64_t before = denials(), what = random_.below(10);
        const std::size_t alignment = what >= 8 ? std::size_t{1} << (4 + random_.below(what == 8 ? 8 : 18)) : 1;
        void *start = what < 5 ? malloc(size) : what < 8 ? calloc(1, size) : aligned_alloc(alignment, size);
        if (start == nullptr) return accept_null(before, "an allocation", size);
        if (reinterpret_cast<std::uintptr_t>(start) % alignment != 0) object("alignment %zu is not met", alignment);
        auto *bytes = static_cast<unsigned char *>(start);
        if (what >= 5 && what < 8) check_zero(bytes, size);
        own(place, bytes, size);
    }

    void release(block &place) {
        check(place, "before its free");
        live_bytes -= place.size;
        free(place.start);
        place.start = nullptr;
    }

    void resize(block &place) {
        std::size_t size = next_size();
        if (mine_.mix == 3 || random_.one_in(2))
            size = std::min(64 * mib, place.size / 2 + random_.below(place.size * 2 + 1) + 1);
        if (live_bytes + size > live_max) size = 1 + place.size / 2;
        check(place, "before its realloc");
        const std::uint64_t before = denials();
        void *start = realloc(place.start, size);
        if (start == nullptr) {
            accept_null(before, "realloc", size);
            return check(place, "after a realloc that failed");
        }
        const block was = place;
        live_bytes -= was.size;
        check(was, static_cast<unsigned char *>(start), std::min(was.size, size), "after its realloc");
        own(place, static_cast<unsigned char *>(start), size);
    }

    void swap(block &place) {
        block &other = exchange.blocks[random_.below(exchange_slots)];
        (void)pthread_mutex_lock(&exchange.lock);
        std::swap(place, other);
        (void)pthread_mutex_unlock(&exchange.lock);
    }

    void step() {
        // Huge blocks are few and are resized often.
        constexpr std::size_t slots_of_mix[] = {slots, slots, slots / 4, slots / 25};
        block &place = mine_.blocks[random_.below(slots_of_mix[mine_.mix])];
        const std::uint64_t what = random_.below(1000);
        if (what == 0) return check_all();
        if (what < 8) return static_cast<void>(malloc_trim(0));
        if (what < 100) return swap(place);
        if (place.start == nullptr) return allocate(place);
        if (what < (mine_.mix == 3 ? 920U : 600U)) return resize(place);
        release(place);
    }

    share &mine_;
    test::random_source &random_;
};

void *work(void *given) {
    auto &mine = *static_cast<share *>(given);
    worker(mine).run(mine.operations);
    return nullptr;
}

// Each share gets a thread of its own, or runs in this thread if there is no memory for one. A single share always runs
// in this thread: then nothing is left to chance.
void run_threads(std::span<share> all) {
    if (all.size() == 1) return static_cast<void>(work(&all[0]));
    pthread_t threads[thread_max];
    bool begun[thread_max] = {};
    for (std::size_t i = 0; i < all.size(); i++) begun[i] = pthread_create(&threads[i], nullptr, work, &all[i]) == 0;
    for (std::size_t i = 0; i < all.size(); i++) {
        if (begun[i]) {
            (void)pthread_join(threads[i], nullptr);
        } else {
            (void)work(&all[i]);
        }
    }
}

void serve_again() {
    for (const std::size_t size : {std::size_t{1}, 100 * kib, 3 * mib, 9 * mib}) {
        auto *zeros = static_cast<unsigned char *>(calloc(1, size));
        auto *others = static_cast<unsigned char *>(malloc(size));
        if (zeros == nullptr || others == nullptr) object("when nothing fails any longer there are no %zu bytes", size);
        check_zero(zeros, size);
        std::memset(others, 1, size);
        free(zeros);
        free(others);
    }
}

void *serve_thread(void *unused) {
    serve_again();
    return unused;
}

// The first half of the final checks runs while calls still fail.
void end_round(std::span<share> all) {
    for (share &each : all) worker(each).check_all();
    worker(all[0]).free_all();
    (void)malloc_trim(0);
    record->disabled = 1;
    serve_again();
    pthread_t thread;
    if (pthread_create(&thread, nullptr, serve_thread, nullptr) == 0) (void)pthread_join(thread, nullptr);
    std::copy(exchange.blocks, exchange.blocks + exchange_slots, shares[thread_max - 1].blocks);
    for (share &each : shares) worker(each).free_all();
    (void)malloc_trim(0);
    serve_again();
    if (failing_calls_trespasses == nullptr) return;
    const std::uint64_t trespasses = failing_calls_trespasses();
    if (trespasses != 0) {
        object("%llu pages were written to or mapped over that are another's since a call failed",
               static_cast<unsigned long long>(trespasses));
    }
}

// True: the program goes on. When it executes itself again it no longer passes the filter on.
bool install_filter(char **arguments) {
    if (!filtered_calls_install(arguments[4])) return false;
    if (std::strcmp(arguments[5], "exec") != 0) return true;
    char *again[] = {arguments[0], arguments[1], arguments[2], arguments[3], nullptr};
    (void)execv("/proc/self/exe", again);
    std::fprintf(stderr, "failing_round: exec: %s\n", std::strerror(errno));
    return false;
}

} // namespace

int main(int count, char **arguments) {
    if (count != 4 && count != 6) {
        std::fputs("usage: failing_round SEED OPERATIONS THREADS [FILTER main|exec]\n", stderr);
        return 2;
    }
    const std::uint64_t seed = std::strtoull(arguments[1], nullptr, 0);
    const std::size_t operations = std::strtoull(arguments[2], nullptr, 0);
    const std::size_t threads = std::clamp<std::size_t>(std::strtoull(arguments[3], nullptr, 0), 1, thread_max - 1);
    if (count == 6 && !install_filter(arguments)) return 2;
    if (failing_calls_record != nullptr) record = failing_calls_record();
    const std::span<share> all(shares, threads);
    const auto mix = static_cast<unsigned>(test::random_source(seed).below(6) % 4);
    for (std::size_t i = 0; i < threads; i++) {
        all[i].random = test::random_source(seed * thread_max + i);
        all[i].keys = i << 40;
        all[i].operations = operations / threads / (threads == 1 ? 1 : 2);
        all[i].mix = mix;
    }
    run_threads(all);
    if (threads != 1) run_threads(all); // these threads take over what the first ones left
    end_round(all);
    return 0;
}
