// malloc_soak SECONDS [SEED [LEAK]]: for so many seconds, threads start and end, allocate blocks of all sizes, resize
// them, and free each other's, in a program that is linked with the malloc. Exit status 0: every block was as it was
// written, no invariant of the malloc's tables is broken at the end, all is freed, and resident memory is flat. Each
// thread leaks LEAK bytes on purpose when it ends: this fault must be detected.
//
// Flat means: the mean over the last quarter of the time exceeds that over the second quarter by at most a twentieth,
// or by twice the largest difference between two neighbouring eighths in between, if that is more. It is judged from 30
// seconds on: until then the thread caches of all sizes still grow to their bounds.
#include "invariants.hpp"

#include "os/system_memory.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cinttypes>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <malloc.h>
#include <random>
#include <thread>
#include <vector>

namespace {

using clock_type = std::chrono::steady_clock;
using milliseconds = std::chrono::milliseconds;

constexpr std::size_t place_count = 4096, thread_count = 4;
constexpr std::size_t mib = std::size_t{1} << 20;

// Written at both ends of a block.
struct stamp {
    std::uint64_t size, check;
};

std::array<std::atomic<stamp *>, place_count> places;
std::atomic<std::uint64_t> allocs, frees, resizes, lives;
std::atomic<bool> is_over;
std::size_t leak;

[[noreturn]] void fail(const char *what) {
    std::fprintf(stderr, "malloc_soak: %s\n", what);
    std::_Exit(1);
}

std::uint64_t *last_word(stamp *of) {
    return reinterpret_cast<std::uint64_t *>(reinterpret_cast<char *>(of) + of->size / 8 * 8 - 8);
}

class life {
  public:
    explicit life(std::uint64_t seed) : random_(seed) {}

    void step() {
        stamp *found = places[random_() % place_count].exchange(random_() % 3 == 0 ? nullptr : make());
        if (found == nullptr) return;
        require_whole(found);
        if (random_() % 8 == 0) {
            found = resize(found);
            require_whole(found);
        }
        std::free(found);
        frees.fetch_add(1, std::memory_order_relaxed);
    }

  private:
    std::size_t any_size() {
        const std::uint64_t kind = random_() % 2000;
        const std::size_t most = kind == 0 ? 16 * mib : kind < 20 ? 600'000 : kind < 300 ? 16'000 : 500;
        return sizeof(stamp) + 8 + random_() % most;
    }

    stamp *signed_by(void *block, std::size_t size) const {
        if (block == nullptr) fail("there is no memory");
        auto *made = static_cast<stamp *>(block);
        made->size = size;
        made->check = size * 0x9e3779b97f4a7c15U ^ reinterpret_cast<std::uintptr_t>(block);
        *last_word(made) = made->check;
        return made;
    }

    stamp *make() {
        const std::size_t size = any_size();
        allocs.fetch_add(1, std::memory_order_relaxed);
        switch (random_() % 8) {
        case 0: return signed_by(zeroed(size), size);
        case 1: return signed_by(std::aligned_alloc(std::size_t{32} << random_() % 10, size), size);
        default: return signed_by(std::malloc(size), size);
        }
    }

    void *zeroed(std::size_t size) {
        auto *block = static_cast<unsigned char *>(std::calloc(1, size));
        if (block != nullptr && (block[0] != 0 || block[size - 1] != 0 || block[random_() % size] != 0))
            fail("calloc gave what was not zero");
        return block;
    }

    stamp *resize(stamp *block) {
        const std::size_t size = any_size();
        const std::uint64_t was = block->size;
        resizes.fetch_add(1, std::memory_order_relaxed);
        auto *moved = static_cast<stamp *>(std::realloc(block, size));
        if (moved == nullptr) fail("there is no memory");
        if (moved->size != was) fail("realloc lost what was there");
        return signed_by(moved, size);
    }

    static void require_whole(stamp *block) {
        const std::uint64_t right = block->size * 0x9e3779b97f4a7c15U ^ reinterpret_cast<std::uintptr_t>(block);
        if (block->check != right || *last_word(block) != right) fail("a block was written to by another");
    }

    std::mt19937_64 random_;
};

void live(std::uint64_t seed) {
    life mine(seed);
    const std::uint64_t steps = 1000 + seed % 100'000;
    for (std::uint64_t i = 0; i < steps && !is_over; i++) mine.step();
    if (leak != 0) std::memset(std::malloc(leak), 1, leak);
    lives++;
}

// Runs threads one after the other.
void live_on(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    while (!is_over) std::thread(live, random()).join();
}

double resident_mib() { return static_cast<double>(test::resident_bytes()) / static_cast<double>(mib); }

double mean(const std::vector<double> &of, std::size_t from, std::size_t to) {
    double sum = 0;
    for (std::size_t i = from; i < to; i++) sum += of[i];
    return sum / static_cast<double>(to - from);
}

constexpr double settled = 30; // seconds

struct levels {
    double before, after, noise; // MiB: the second quarter's mean, the last's, the largest step between eighths

    [[nodiscard]] bool are_flat() const { return after - before <= std::max(before / 20, 2 * noise); }
};

levels levels_of(const std::vector<double> &samples) {
    const std::size_t eighth = samples.size() / 8;
    if (eighth == 0) fail("too short a time to tell anything: give more seconds");
    double noise = 0;
    for (std::size_t i = 2; i + 1 < 8; i++)
        noise = std::max(noise, std::abs(mean(samples, i * eighth, (i + 1) * eighth) -
                                         mean(samples, (i + 1) * eighth, (i + 2) * eighth)));
    return {mean(samples, 2 * eighth, 4 * eighth), mean(samples, 6 * eighth, 8 * eighth), noise};
}

// Tests the judgement itself: memory that goes up and down by a tenth is flat; if it also grows by a half it is not.
bool growth_is_seen() {
    std::vector<double> swinging(800), growing(800);
    for (std::size_t i = 0; i < swinging.size(); i++) {
        swinging[i] = i % 20 < 10 ? 100 : 110;
        growing[i] = swinging[i] + static_cast<double>(i) / 16;
    }
    return levels_of(swinging).are_flat() && !levels_of(growing).are_flat();
}

} // namespace

int main(int argc, char **argv) {
    const double seconds = argc > 1 ? std::strtod(argv[1], nullptr) : 0;
    if (seconds <= 0) {
        std::fprintf(stderr, "malloc_soak: for how many seconds? malloc_soak SECONDS [SEED [LEAK]]\n");
        return 2;
    }
    const std::uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : std::random_device{}();
    if (!growth_is_seen()) fail("growth is not seen");
    (void)test::keep_to_small_pages();
    leak = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 0;
    std::printf("malloc_soak: %.0f s, seed %" PRIu64 "\n", seconds, seed);
    std::vector<double> samples;
    samples.reserve(static_cast<std::size_t>(seconds * 50) + 10);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < thread_count; i++) threads.emplace_back(live_on, seed + i);
    for (const auto end = clock_type::now() + milliseconds(static_cast<long>(seconds * 1000));
         clock_type::now() < end;) {
        std::this_thread::sleep_for(milliseconds(20));
        samples.push_back(resident_mib());
    }
    is_over = true;
    for (std::thread &thread : threads) thread.join();
    if (const std::string broken = test::broken_invariant(); !broken.empty()) fail(broken.c_str());
    for (auto &place : places) std::free(place.exchange(nullptr));
    (void)malloc_trim(0);
    if (const std::string broken = test::broken_invariant(); !broken.empty()) fail(broken.c_str());
    std::printf("%" PRIu64 " allocs, %" PRIu64 " frees, %" PRIu64 " resizes, %" PRIu64 " threads' lives\n",
                allocs.load(), frees.load(), resizes.load(), lives.load());
    const struct mallinfo2 left = mallinfo2();
    if (left.uordblks + left.hblkhd > mib) fail("more than a MiB is live at the end");
    const levels resident = levels_of(samples);
    std::printf("resident: %.1f MiB in the second quarter, %.1f in the last, neighbouring eighths differ by %.1f\n",
                resident.before, resident.after, resident.noise);
    if (!resident.are_flat() && seconds >= settled) fail("resident memory grows");
    std::printf("every block was whole, every table is right, and all is freed; %.1f MiB resident\n", resident_mib());
    return 0;
}
