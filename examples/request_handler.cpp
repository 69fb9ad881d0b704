// A server's requests, by two threads. Each request gets one block for all that it needs: from a pool, in a burst from
// a second one, and within its worker's budget. What gets none is turned away, without an exception. Everything is
// counted for `flatline plan`.
//
//     request_handler [ROUNDS [TRACKING_FILE]]
#include <flatline/resource.hpp>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory_resource>
#include <string>
#include <thread>
#include <unordered_map>

/* Which part of its life the program is in. Only the tests read it: they require that the heap is not called while it
 * is STEADY. */
enum Phase { STARTING, STEADY, ENDING };
volatile Phase phase;

namespace {

flat_pool *make_pool(flat_class blocks) {
    flat_pool_options options{};
    options.classes = &blocks;
    options.class_count = 1;
    flat_pool *pool = nullptr;
    return flat_pool_create(&pool, &options, nullptr) == FLAT_OK ? pool : nullptr;
}

// Parses "key=value&key=value..." and answers with the number of pairs.
std::size_t parse(const char *request, std::pmr::memory_resource &memory) {
    std::pmr::unordered_map<std::pmr::string, std::pmr::string> fields(&memory);
    std::pmr::string key(&memory), value(&memory);
    std::pmr::string *into = &key;
    for (const char *at = request;; at++) {
        if (*at == '=') {
            into = &value;
        } else if (*at == '&' || *at == '\0') {
            fields.emplace(key, value);
            key.clear();
            value.clear();
            into = &key;
            if (*at == '\0') return fields.size();
        } else {
            into->push_back(*at);
        }
    }
}

// Enough for the strings, each of which doubles as it grows, and for the table.
std::size_t bytes_for(const char *request) { return 1024 + 16 * std::strlen(request); }

struct Outcome {
    std::size_t answered = 0, turned_away = 0;
};

Outcome work(int rounds, std::pmr::memory_resource &shared) {
    flat::limited_resource budget(4096, &shared); // this worker's part of what both share
    Outcome outcome;
    for (int round = 0; round < rounds; round++) {
        const char *request = "name=Ada Lovelace, London&subject=analytical engines&year=1843";
        if (round % 10 == 9)
            request = "search=a text that is much longer than what is usually asked for in a search, "
                      "and that asks for more than what this worker may have at once, since sixteen "
                      "times its length is above the four kilobytes of the budget for one request";
        const std::size_t bytes = bytes_for(request);
        void *block = budget.try_allocate(bytes, 16);
        if (block == nullptr) {
            outcome.turned_away++;
            continue;
        }
        flat::region_resource memory(flat_memory{block, bytes});
        outcome.answered += parse(request, memory) == 3;
        budget.deallocate(block, bytes, 16);
    }
    return outcome;
}

} // namespace

int main(int argc, char **argv) {
    const int rounds = argc > 1 ? std::atoi(argv[1]) : 1000;
    flat_pool *usual = make_pool({2048, 1});
    flat_pool *reserve = make_pool({4096, 8});
    if (usual == nullptr || reserve == nullptr) return 1;
    std::pmr::set_default_resource(flat::refusing_resource());

    Outcome first, second;
    flat::tracking_stats counted{};
    bool written = true;
    {
        flat::pool_resource on_usual(*usual), on_reserve(*reserve);
        flat::chain_resource chain(&on_usual, &on_reserve); // first the one, then the other, then nothing
        flat::tracking_resource tracking(&chain);           // counts by size
        flat::locked_resource shared(&tracking);            // one call at a time, with priority inheritance

        std::thread other([&] {
            second = work(rounds, shared);
            while (phase != ENDING) std::this_thread::yield(); // a thread that ends gives memory back to the heap
        });
        phase = STEADY;
        first = work(rounds, shared);
        phase = ENDING;
        other.join();

        counted = tracking.stats();
        if (argc > 2) written = tracking.write(argv[2]);
    }
    flat_pool_destroy(usual);
    flat_pool_destroy(reserve);
    const std::size_t answered = first.answered + second.answered, away = first.turned_away + second.turned_away;
    std::printf("%zu answered, %zu turned away; %llu blocks asked for, at most %llu bytes at once\n", answered, away,
                static_cast<unsigned long long>(counted.requests), static_cast<unsigned long long>(counted.peak_bytes));
    return answered + away == 2 * static_cast<std::size_t>(rounds) && counted.requests == answered &&
                   counted.live == 0 && written && flat::last_refusal().count == 0
               ? 0
               : 1;
}
