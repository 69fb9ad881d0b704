// percore_soak SECONDS [SEED]: threads start and end, adopt and leave shards, allocate, and free each other's blocks
// for the given time. Exit status 0: every block kept its contents, none was lost or handed out twice, no alloc was
// refused while more blocks were free than the bound says, and resident memory did not grow. Growth is judged only in
// runs of 30 seconds or more, because the pools' memory becomes resident at its first use.
#include "os/system_memory.hpp"
#include "resident_growth.hpp"

#include <flatline/percore.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include <unistd.h>

namespace {

using clock_type = std::chrono::steady_clock;
using milliseconds = std::chrono::milliseconds;

constexpr std::size_t shards = 5, most_threads = 8, slot_count = 3000;
constexpr std::array<flat_class, 4> classes = {{{32, 90}, {128, 1200}, {1024, 300}, {4096, 40}}};

flat_percore *set;

// The contents of a live block, which identify it.
struct stamp {
    std::uint64_t number;
    std::uint32_t class_number, shard_number;
    std::uint64_t check;
};

// Blocks in transit: a thread exchanges its own block for the one in a slot.
std::array<std::atomic<stamp *>, slot_count> slots;

// Numbers of live blocks. A block counts until its free has returned.
std::array<std::array<std::atomic<std::size_t>, classes.size()>, shards> live;

std::atomic<std::uint64_t> allocs, local_frees, remote_frees, refused, numbers, lives;
std::atomic<bool> is_over;

[[noreturn]] void fail(const char *what) {
    std::fprintf(stderr, "percore_soak: %s\n", what);
    std::fflush(nullptr);
    std::_Exit(1);
}

std::uint64_t check_of(const stamp &of) {
    return (of.number * 0x9e3779b97f4a7c15u) ^ of.class_number ^ (std::uint64_t{of.shard_number} << 32);
}

class life {
  public:
    explicit life(std::uint64_t seed) : random_(seed) {}

    void run() {
        flat_pool *shard = below(4) == 0 ? nullptr : flat_percore_adopt(set);
        const auto end = clock_type::now() + milliseconds(20 + below(400));
        while (!is_over && clock_type::now() < end) {
            for (int i = 0; i < 200; i++) step(shard);
        }
        while (!mine_.empty()) put_down(shard, mine_.size() - 1);
        if (shard == nullptr) return;
        if (below(3) == 0) (void)flat_percore_flush(shard);
        flat_percore_leave(shard);
    }

  private:
    std::size_t below(std::size_t end) { return random_() % end; }

    void step(flat_pool *shard) {
        switch (below(10)) {
        case 0:
        case 1:
        case 2:
        case 3:
            if (shard != nullptr) allocate(shard);
            break;
        case 4:
        case 5:
            if (!mine_.empty()) put_down(shard, below(mine_.size()));
            break;
        case 6:
            if (!mine_.empty()) {
                stamp *block = take_from_mine(below(mine_.size()));
                give_back(shard, block);
            }
            break;
        case 7:
            if (shard != nullptr && below(50) == 0) (void)flat_percore_drain(shard, below(20));
            break;
        default:
            if (stamp *block = slots[below(slot_count)].exchange(nullptr)) pick_up(shard, block);
        }
    }

    void allocate(flat_pool *shard) {
        const std::size_t kind = below(classes.size()), number = shard_number(shard);
        const std::size_t before = live[number][kind].load();
        void *block = flat_percore_alloc(shard, classes[kind].block_size);
        if (block == nullptr) {
            refused++;
            if (before + flat_percore_parked_bound(classes[kind].block_count, most_threads) < classes[kind].block_count)
                fail("an alloc was refused while more was to be had than the bound says");
            return;
        }
        live[number][kind]++;
        allocs++;
        auto *made = static_cast<stamp *>(block);
        *made = {numbers++, static_cast<std::uint32_t>(kind), static_cast<std::uint32_t>(number), 0};
        made->check = check_of(*made);
        mine_.push_back(made);
    }

    static std::size_t shard_number(flat_pool *shard) {
        for (std::size_t i = 0; i < shards; i++) {
            if (flat_percore_shard(set, i) == shard) return i;
        }
        fail("an adopted shard is none of the set");
    }

    stamp *take_from_mine(std::size_t which) {
        stamp *block = mine_[which];
        mine_[which] = mine_.back();
        mine_.pop_back();
        return block;
    }

    // Leaves the block for another thread to free.
    void put_down(flat_pool *shard, std::size_t which) {
        if (stamp *before = slots[below(slot_count)].exchange(take_from_mine(which))) give_back(shard, before);
    }

    void pick_up(flat_pool *shard, stamp *block) {
        if (below(2) == 0)
            mine_.push_back(block);
        else
            give_back(shard, block);
    }

  public:
    static void give_back(flat_pool *shard, stamp *block) {
        const stamp was = *block;
        if (was.check != check_of(was)) fail("a block was not read as it was written");
        block->check = 0;
        const bool is_own = shard != nullptr && flat_percore_shard(set, was.shard_number) == shard;
        const flat_status status =
            shard != nullptr ? flat_percore_free_as(shard, block) : flat_percore_free(set, block);
        if (status != FLAT_OK) fail(flat_status_string(status));
        live[was.shard_number][was.class_number]--;
        (is_own ? local_frees : remote_frees)++;
    }

  private:
    std::mt19937_64 random_;
    std::vector<stamp *> mine_;
};

// Runs one thread after the other until the test is over.
void live_on(std::uint64_t seed) {
    while (!is_over) {
        std::thread([=] { life(seed).run(); }).join();
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        lives++;
    }
}

void require_all_back() {
    for (std::atomic<stamp *> &slot : slots) {
        if (stamp *block = slot.exchange(nullptr)) life::give_back(nullptr, block);
    }
    for (std::size_t i = 0; i < shards; i++) {
        flat_pool *shard = flat_percore_adopt(set);
        if (shard == nullptr) fail("a shard was not left");
        (void)flat_percore_flush(shard);
        if (flat_pool_visit(shard, nullptr, nullptr) != 0) fail("a block is live that nobody has");
        if (flat_pool_check(shard) != FLAT_OK || flat_percore_check(shard) != FLAT_OK) fail("a shard is corrupted");
        if (flat_percore_late_double_frees(shard) != 0) fail("a double free that nobody made");
        for (const flat_class &each : classes) {
            for (std::size_t k = 0; k < each.block_count; k++) {
                if (flat_pool_alloc(shard, each.block_size) == nullptr) fail("a block is lost");
            }
        }
    }
}

} // namespace

int main(int argc, char **argv) {
    const unsigned seconds = argc > 1 ? static_cast<unsigned>(std::strtoul(argv[1], nullptr, 10)) : 0;
    const std::uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : std::random_device()();
    if (seconds == 0) fail("usage: percore_soak SECONDS [SEED]");
    const flat_percore_options options{classes.data(), classes.size(), shards};
    if (flat_percore_create(&set, &options, nullptr) != FLAT_OK) fail("no memory for the set");
    (void)test::keep_to_small_pages();
    std::printf("%u seconds, seed %" PRIu64 "\n", seconds, seed);
    std::vector<std::thread> threads;
    if (!test::growth_is_seen()) fail("growth of memory would not be seen");
    std::vector<std::size_t> pages;
    for (std::size_t i = 0; i < most_threads; i++) threads.emplace_back(live_on, seed + i);
    for (unsigned second = 0; second < seconds; second++) {
        std::this_thread::sleep_for(std::chrono::seconds(1));
        pages.push_back(test::resident_bytes() / test::page_size());
    }
    is_over = true;
    for (std::thread &each : threads) each.join();
    require_all_back();
    std::printf("%" PRIu64 " lives; %" PRIu64 " allocs, %" PRIu64 " refused; %" PRIu64 " local frees, %" PRIu64
                " remote: every block is back\n",
                lives.load(), allocs.load(), refused.load(), local_frees.load(), remote_frees.load());
    if (test::memory_is_its_own && !test::is_flat(pages)) fail("resident memory grows");
    flat_percore_destroy(set);
    return 0;
}
