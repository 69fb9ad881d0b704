#define _GNU_SOURCE
#include "consumer.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

bool consumer_is_over;

static pthread_t thread;
static void (*serve_all)(void);

static void *run_thread(void *argument) {
    (void)argument;
    serve_all();
    return NULL;
}

bool consumer_begin(void (*serve)(void), int processor) {
    pthread_attr_t attributes;
    cpu_set_t set;
    serve_all = serve;
    CPU_ZERO(&set);
    CPU_SET((size_t)processor, &set);
    if (pthread_attr_init(&attributes) != 0) return false;
    bool begun = pthread_attr_setaffinity_np(&attributes, sizeof set, &set) == 0 &&
                 pthread_create(&thread, &attributes, run_thread, NULL) == 0;
    (void)pthread_attr_destroy(&attributes); /* it cannot fail */
    return begun;
}

void consumer_stop(void) { __atomic_store_n(&consumer_is_over, true, __ATOMIC_RELEASE); }

void consumer_join(void) { (void)pthread_join(thread, NULL); /* it was created, and is joined once */ }

void consumer_nothing(struct flat_worker *here, void *payload, size_t size) {
    (void)here;
    (void)payload;
    (void)size;
}

void sleep_on_word(const uint32_t *word, uint32_t value) {
    /* Whatever ends it, the caller looks again. */
    (void)syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

void wake_by_word(const uint32_t *word) {
    (void)syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0); /* it fails only for a bad address */
}
