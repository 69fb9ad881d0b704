// Containers that travel: one thread samples readings into vectors of its own shard, another one takes them over, lets
// them grow, and ends them. Nothing is copied, and no thread waits for the other inside an allocation.
#include <flatline/percore.hpp>

#include <array>
#include <atomic>
#include <cstdio>
#include <memory_resource>
#include <thread>
#include <utility>
#include <vector>

// Which part of its life the program is in. Only the tests read it: they require that the heap is not called while it
// is STEADY.
enum Phase { STARTING, STEADY, ENDING };
volatile Phase phase;

namespace {

constexpr int rounds = 1000, readings = 100;

template <class T> using vector = std::vector<T, flat::percore_allocator<T>>;

// One vector at a time, from one thread to the other.
class Mailbox {
  public:
    explicit Mailbox(flat_pool *shard) : letter_(shard) {}
    void put(vector<int> &&given) {
        while (full_.load(std::memory_order_acquire)) std::this_thread::yield();
        letter_ = std::move(given); // same set: the block is taken over
        full_.store(true, std::memory_order_release);
    }
    void take(vector<int> &into) {
        while (!full_.load(std::memory_order_acquire)) std::this_thread::yield();
        into = std::move(letter_); // keeps its own shard
        full_.store(false, std::memory_order_release);
    }

  private:
    vector<int> letter_;
    std::atomic<bool> full_{false};
};

// The threads and main stand in it until all three have come.
class Line {
  public:
    void wait_for(int all) {
        come_.fetch_add(1, std::memory_order_acq_rel);
        while (come_.load(std::memory_order_acquire) < all) std::this_thread::yield();
    }

  private:
    std::atomic<int> come_{0};
};

std::array<Line, 3> lines; // to start, to end, and to leave
std::atomic<long> sum{0};

void sample(flat_pool *shard, Mailbox &to) {
    lines[0].wait_for(3);
    for (int round = 0; round < rounds; round++) {
        vector<int> sampled(shard);
        for (int i = 0; i < readings; i++) sampled.push_back(i);
        to.put(std::move(sampled));
    }
    lines[1].wait_for(3);
    lines[2].wait_for(3);
}

void evaluate(flat_pool *shard, Mailbox &from) {
    lines[0].wait_for(3);
    for (int round = 0; round < rounds; round++) {
        vector<int> mine(shard);
        from.take(mine);                                      // a block of the other shard ...
        for (int i = 0; i < readings; i++) mine.push_back(1); // ... outgrown here: it goes back, and `mine` has its own
        long total = 0;
        for (int reading : mine) total += reading;
        sum.fetch_add(total, std::memory_order_relaxed);
    }
    lines[1].wait_for(3);
    lines[2].wait_for(3);
}

// The same for std::pmr: what one resource of a set handed out, another takes back, on any thread.
bool goes_back_through_another(flat_percore *set) {
    flat::percore_resource here(*flat_percore_shard(set, 0)), there(*flat_percore_shard(set, 1));
    std::pmr::vector<int> numbers({1, 2, 3}, &here), mine(&there);
    const int *block = numbers.data();
    mine = std::move(numbers); // equal resources: the block moves, and not the elements
    return mine.data() == block && mine.get_allocator().resource() == &there;
}

bool all_back(flat_pool *shard) {
    flat_percore_flush(shard);
    return flat_pool_visit(shard, nullptr, nullptr) == 0 && flat_percore_check(shard) == FLAT_OK;
}

} // namespace

int main() {
    const std::array<flat_class, 4> classes = {{{64, 64}, {256, 64}, {1024, 64}, {4096, 16}}};
    flat_percore_options options{};
    options.classes = classes.data();
    options.class_count = classes.size();
    options.shard_count = 2;
    flat_percore *set = nullptr;
    if (flat_percore_create(&set, &options, nullptr) != FLAT_OK) return 1;
    flat_pool *first = flat_percore_shard(set, 0), *second = flat_percore_shard(set, 1);
    bool taken_over = false;
    {
        Mailbox mailbox(first);
        std::thread sampler([&] { sample(first, mailbox); }), evaluator([&] { evaluate(second, mailbox); });
        phase = STEADY;
        lines[0].wait_for(3);
        lines[1].wait_for(3);
        taken_over = goes_back_through_another(set); // the threads are done with their shards
        phase = ENDING;
        lines[2].wait_for(3);
        sampler.join();
        evaluator.join();
    }
    const bool back = all_back(first) && all_back(second);
    std::printf("%d vectors of %d readings, sum %ld; every block %s\n", rounds, readings, sum.load(),
                back ? "came back" : "did NOT come back");
    flat_percore_destroy(set);
    return back && taken_over && sum.load() == rounds * (readings * (readings - 1) / 2 + readings) ? 0 : 1;
}
