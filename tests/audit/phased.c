/* A program with phases, threads, resizes and frees by other threads, whose numbers recorded_plan_test.py knows. */
#include <flatline/audit.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { LOADED = 20, ROUNDS = 100, MESSAGES = 30 };

static void *blocks[LOADED], *messages[MESSAGES];

static void *receive(void *unused) {
    for (int i = 0; i < MESSAGES; i++) free(messages[i]);
    for (int i = 0; i < 7; i++) {
        messages[0] = malloc(700);
        free(messages[0]);
    }
    return unused;
}

static void work(void) {
    void *first = malloc(100), *second = malloc(110), *aligned = aligned_alloc(256, 256);
    first = realloc(first, 1000);
    free(second);
    free(aligned);
    free(first);
}

int main(void) {
    pthread_t thread;
    for (int i = 0; i < LOADED; i++) blocks[i] = malloc(48);
    flat_phase("steady");
    for (int i = 0; i < ROUNDS; i++) work();
    flat_phase("messages");
    for (int i = 0; i < MESSAGES; i++) messages[i] = malloc(200);
    if (pthread_create(&thread, NULL, receive, NULL) != 0 || pthread_join(thread, NULL) != 0) return 1;
    flat_phase("steady");
    work();
    flat_phase("ending");
    for (int i = 0; i < LOADED; i++) free(blocks[i]);
    return 0;
}
