/* A program that frees nearly its whole heap at once. Its allocator gives the memory back to the kernel under the lock
 * of the heap: the free that begins it stalls for the madvise, and other threads, some of the time, for the lock.
 *
 * After gperftools issue 754. The allocator is purge_under_lock_malloc.c. */
#include "scenario.h"

#include <pthread.h>
#include <semaphore.h>

namespace {

constexpr int rounds = 42;
constexpr int rounds_with_neighbour = 6; // in one of so many, another thread allocates meanwhile
constexpr int blocks = 12;
constexpr std::size_t block_size = 2 * MIB - 64;
stopwatch purges;
void *held[blocks];
sem_t begin;

void *neighbour(void *) {
    for (int i = 0; i < rounds / rounds_with_neighbour; i++) {
        while (sem_wait(&begin) != 0) {
        }
        scenario_pause(1100000);
        void *small = std::malloc(100);
        std::free(scenario_block(small));
    }
    return nullptr;
}

void build() {
    for (void *&block : held) {
        block = std::malloc(block_size);
        scenario_fill(scenario_block(block), block_size);
    }
}

void drop() {
    stopwatch_start(&purges);
    for (void *block : held) {
        std::free(block); // stalls: free, system call madvise
    }
    stopwatch_stop(&purges);
}

} // namespace

int main() {
    pthread_t thread;
    scenario_begin();
    if (sem_init(&begin, 0, 0) != 0 || pthread_create(&thread, nullptr, neighbour, nullptr) != 0)
        scenario_stop("there are no threads");
    for (int round = 0; round < rounds; round++) {
        build();
        if (round % rounds_with_neighbour == 0 && sem_post(&begin) != 0) scenario_stop("a semaphore failed");
        scenario_next_period();
        drop();
    }
    if (pthread_join(thread, nullptr) != 0) scenario_stop("a thread was lost");
    stopwatch_say(&purges, "frees of the heap");
    return 0;
}
