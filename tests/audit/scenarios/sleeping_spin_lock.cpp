/* A thread that passes messages asks for a small block while another thread frees a huge one. The allocator's spin lock
 * is free again after some hundred microseconds, but who found it taken sleeps for 2 ms.
 *
 * After gperftools issue 62. The allocator is sleeping_spin_lock_malloc.c. */
#include "scenario.h"

#include <pthread.h>

namespace {

constexpr int rounds = 40;
constexpr std::size_t huge = 4 * MIB - 64;
stopwatch requests;
pthread_barrier_t meeting;

void meet() {
    const int result = pthread_barrier_wait(&meeting);
    if (result != 0 && result != PTHREAD_BARRIER_SERIAL_THREAD) scenario_stop("a barrier failed");
}

void *pass_messages(void *) {
    for (int round = 0; round < rounds; round++) {
        meet();
        scenario_pause(50000);
        stopwatch_start(&requests);
        void *message = std::malloc(300); // stalls: malloc, system call nanosleep; blocked
        stopwatch_stop(&requests);
        std::free(scenario_block(message));
    }
    return nullptr;
}

} // namespace

int main() {
    pthread_t messenger;
    scenario_begin();
    if (pthread_barrier_init(&meeting, nullptr, 2) != 0 ||
        pthread_create(&messenger, nullptr, pass_messages, nullptr) != 0)
        scenario_stop("there are no threads");
    for (int round = 0; round < rounds; round++) {
        void *block = scenario_block(std::malloc(huge));
        scenario_fill(block, huge);
        meet();
        std::free(block);
    }
    if (pthread_join(messenger, nullptr) != 0) scenario_stop("a thread was lost");
    stopwatch_say(&requests, "requests for a message");
    return 0;
}
