/* Threads that free small blocks while another one frees a large one: that keeps the lock of the allocator's central
 * list for milliseconds, and all the others wait for it.
 *
 * After gperftools issue 959. The allocator is waits_for_central_lock_malloc.c. */
#include "scenario.h"

#include <pthread.h>

namespace {

constexpr int rounds = 20;
constexpr int threads = 4;
constexpr std::size_t small_blocks = 60000;
stopwatch waits[threads];
void *calls[threads][rounds];
pthread_barrier_t meeting;

void meet() {
    const int result = pthread_barrier_wait(&meeting);
    if (result != 0 && result != PTHREAD_BARRIER_SERIAL_THREAD) scenario_stop("a barrier failed");
}

void *handle_calls(void *number) {
    const auto thread = static_cast<stopwatch *>(number) - waits;
    for (void *call : calls[thread]) {
        meet();
        scenario_pause(200000);
        stopwatch_start(&waits[thread]);
        std::free(call); // stalls: free, lock
        stopwatch_stop(&waits[thread]);
    }
    return nullptr;
}

// Leaves a long list of small free blocks, in an order that no cache foresees.
void use_memory() {
    static void *blocks[small_blocks];
    uint64_t chance = 1;
    for (void *&block : blocks) block = scenario_block(std::malloc(16));
    for (std::size_t left = small_blocks; left > 0; left--) {
        chance = chance * 6364136223846793005U + 1442695040888963407U;
        void *&chosen = blocks[(chance >> 33U) % left];
        std::free(chosen);
        chosen = blocks[left - 1];
    }
}

void free_large_blocks() {
    for (int round = 0; round < rounds; round++) {
        void *large = scenario_block(std::malloc(100 * KIB));
        scenario_next_period();
        meet();
        std::free(large);
    }
}

} // namespace

int main() {
    pthread_t others[threads];
    scenario_begin();
    for (auto &of_thread : calls)
        for (void *&call : of_thread) call = scenario_block(std::malloc(200));
    use_memory();
    if (pthread_barrier_init(&meeting, nullptr, threads + 1) != 0) scenario_stop("there are no barriers");
    for (int i = 0; i < threads; i++)
        if (pthread_create(&others[i], nullptr, handle_calls, &waits[i]) != 0) scenario_stop("there are no threads");
    free_large_blocks();
    for (int i = 0; i < threads; i++) {
        if (pthread_join(others[i], nullptr) != 0) scenario_stop("a thread was lost");
        stopwatch_say(&waits[i], "frees of a thread");
    }
    return 0;
}
