/* The parent's threads have free memory. The threads do not exist in a child, so their memory is the child's to use.
 * Arguments: whose memory (`freed`: threads that freed their own blocks and wait; `main`: the main thread freed them;
 * `live`: the child frees them), the size of a block, and the MiB of all blocks of a thread. The child, and then a
 * child of the child, allocates as much and must not grow by as much: neither in addresses, nor in resident memory
 * where the parent's was resident. */
#define _GNU_SOURCE
#include "wild.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 4, STACK = 32768 /* bytes of a thread's stack: begin_thread() */ };

static size_t size, blocks; /* bytes; number per thread */
static void **block[THREADS];
static bool frees_its_own;
static pthread_barrier_t gate;

static void fill(void **to) {
    for (size_t i = 0; i < blocks; i++) to[i] = filled(size);
}

static void empty(void **from) {
    for (size_t i = 0; i < blocks; i++) free(from[i]);
}

static void *work(void *argument) {
    void **mine = argument;
    fill(mine);
    if (frees_its_own) empty(mine);
    (void)pthread_barrier_wait(&gate);
    (void)pthread_barrier_wait(&gate);
    return NULL;
}

/* The threads' resident and mapped bytes, free or live, when the parent forked. */
typedef struct left_behind {
    size_t pages, addresses; /* bytes */
} left_behind;

static bool is_more(size_t grown, size_t all, size_t left) { return grown > more_than(left, all) + all / 4 + 16 * MIB; }

static void use_again(bool live, const left_behind *left, const char *who) {
    size_t all = THREADS * blocks * size, addresses = mapped(), pages = resident();
    for (size_t i = 0; live && i < THREADS; i++) empty(block[i]);
    for (size_t i = 0; i < THREADS; i++) fill(block[i]);
    size_t more = more_than(addresses, mapped()), grown = more_than(pages, resident());
    say("%s took %zu MiB: %zu MiB more mapped, %zu MiB more resident; left were %zu MiB mapped, %zu MiB resident", who,
        all / MIB, more / MIB, grown / MIB, left->addresses / MIB, left->pages / MIB);
    if (is_more(more, all, left->addresses)) finish(WRONG, "what the parent's threads left is not used in %s", who);
    if (is_more(grown, all, left->pages)) finish(WRONG, "pages of the parent's threads are not used in %s", who);
    for (size_t i = 0; i < THREADS; i++) empty(block[i]);
}

static void await(pid_t child) {
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child) finish(CANNOT_RUN, "fork fails");
    if (status != 0) finish(WRONG, "a child ended with status %x", status);
}

static void be_child(bool live, const left_behind *left, const left_behind *before) {
    use_again(live, left, "a child");
    /* A grandchild can use what the child left of that. */
    const left_behind again = {more_than(before->pages, resident()), more_than(before->addresses, mapped())};
    pid_t grandchild = fork();
    if (grandchild == 0) {
        use_again(false, &again, "a child's child");
        _exit(RIGHT);
    }
    await(grandchild);
    _exit(RIGHT);
}

int main(int count, char **arguments) {
    pthread_t threads[THREADS];
    const char *whose = count > 1 ? arguments[1] : "freed";
    size = number(count, arguments, 2);
    blocks = number(count, arguments, 3) * MIB / size;
    frees_its_own = strcmp(whose, "freed") == 0;
    (void)alarm(60);
    for (size_t i = 0; i < THREADS; i++) block[i] = filled(blocks * sizeof(void *));
    const left_behind before = {resident(), mapped() + THREADS * STACK};
    (void)pthread_barrier_init(&gate, NULL, THREADS + 1);
    for (size_t i = 0; i < THREADS; i++) threads[i] = must_begin_thread(work, (void *)block[i]);
    (void)pthread_barrier_wait(&gate);
    for (size_t i = 0; strcmp(whose, "main") == 0 && i < THREADS; i++) empty(block[i]);
    bool live = strcmp(whose, "live") == 0;
    const left_behind left = {more_than(before.pages, resident()), more_than(before.addresses, mapped())};
    pid_t child = fork();
    if (child == 0) be_child(live, &left, &before);
    await(child);
    (void)pthread_barrier_wait(&gate);
    for (size_t i = 0; i < THREADS; i++) (void)pthread_join(threads[i], NULL);
    return RIGHT;
}
