/* Makes one mistake with memory, to show what the allocator in use makes of it.
 *
 *     misuse_kinds KIND     makes it; prints "went on" if the program survives it, and "ended" if it survives another
 *                           10,000 calls as well
 *     misuse_kinds          lists the kinds, each with a description
 */
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *take(size_t size) {
    char *block = malloc(size);
    if (block == NULL) exit(3);
    memset(block, 1, size);
    return block;
}

/* Hidden from the compiler, which knows what a free means. */
static void give(void *volatile block) { free(block); }

static void *give_in_thread(void *block) {
    give(block);
    return NULL;
}

static void give_by_another(void *block) {
    pthread_t other;
    if (pthread_create(&other, NULL, give_in_thread, block) != 0) exit(3);
    (void)pthread_join(other, NULL);
}

static void double_free(size_t size) {
    char *block = take(size);
    give(block);
    give(block);
}

static void double_free_small(void) { double_free(64); }
static void double_free_large(void) { double_free(100000); }
static void double_free_huge(void) { double_free(50 << 20); }

static void double_free_after_another(void) {
    char *a = take(64), *b = take(64);
    give(a);
    give(b);
    give(a);
}

static void double_free_after_many(void) {
    enum { MANY = 1000 };
    static char *blocks[MANY];
    for (int i = 0; i < MANY; i++) blocks[i] = take(64);
    for (int i = 0; i < MANY; i++) give(blocks[i]);
    give(blocks[3]);
}

static void double_free_by_another_thread(void) {
    char *block = take(64);
    give(block);
    give_by_another(block);
}

static void double_free_of_what_another_freed(void) {
    char *block = take(64);
    give_by_another(block);
    give(block);
}

static void interior_pointer(void) { give(take(64) + 16); }
static void interior_pointer_of_large(void) { give(take(100000) + 4096); }
static void misaligned_pointer(void) { give(take(64) + 1); }

static void stack_pointer(void) {
    _Alignas(16) char of_the_stack[256];
    memset(of_the_stack, 0, sizeof of_the_stack);
    give(of_the_stack + 64);
}

static void static_pointer(void) {
    _Alignas(16) static char of_the_program[256];
    give(of_the_program + 64);
}

static void never_handed_out(void) { give(take(64) + 64 * 100); }

static void realloc_of_freed(void) {
    char *volatile block = take(64);
    give(block);
    char *moved = realloc(block, 1000);
    (void)moved;
}

static void write_after_free(void) {
    char *volatile block = take(64);
    give(block);
    memset(block, 0x41, 64);
}

static void write_past_the_end(void) {
    char *volatile block = take(24);
    memset(block, 0x41, 24 + 24);
    give(block);
}

static const struct {
    const char *name, *description;
    void (*make)(void);
} kinds[] = {
    {"double-free", "a block freed twice in a row", double_free_small},
    {"double-free-after-another", "freed again after another one was", double_free_after_another},
    {"double-free-after-many", "freed again after a thousand others were", double_free_after_many},
    {"double-free-large", "a block of 100,000 bytes freed twice", double_free_large},
    {"double-free-huge", "a block of 50 MiB freed twice", double_free_huge},
    {"double-free-by-another-thread", "freed by its own thread, then by another", double_free_by_another_thread},
    {"double-free-of-what-another-freed", "freed by another thread, then by its own",
     double_free_of_what_another_freed},
    {"interior-pointer", "a pointer 16 bytes into a block freed", interior_pointer},
    {"interior-pointer-of-large", "a pointer a page into a block of 100,000 bytes freed", interior_pointer_of_large},
    {"misaligned-pointer", "a pointer 1 byte into a block freed", misaligned_pointer},
    {"stack-pointer", "a pointer into the stack freed", stack_pointer},
    {"static-pointer", "a pointer to a static array freed", static_pointer},
    {"never-handed-out", "a pointer freed to where no block was made", never_handed_out},
    {"realloc-of-freed", "a freed block resized", realloc_of_freed},
    {"write-after-free", "a freed block written to", write_after_free},
    {"write-past-the-end", "24 bytes written behind a block of 24", write_past_the_end},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* Makes ordinary calls. A corrupted allocator may do anything then. */
static void go_on(void) {
    enum { CALLS = 10000, LIVE = 256 };
    static char *live[LIVE];
    for (int i = 0; i < CALLS; i++) {
        char **place = &live[i * 7 % LIVE];
        free(*place);
        *place = take(i % 13 == 0 ? 1000 : 24 + (size_t)i % 3 * 40);
    }
}

static void say(const char *words) {
    if (write(STDOUT_FILENO, words, strlen(words)) < 0) _exit(3);
}

int main(int argc, char **argv) {
    for (int i = 0; i < KINDS; i++) {
        if (argc < 2) {
            printf("%s\t%s\n", kinds[i].name, kinds[i].description);
        } else if (strcmp(argv[1], kinds[i].name) == 0) {
            kinds[i].make();
            say("went on\n");
            go_on();
            say("ended\n");
            _exit(0);
        }
    }
    return argc < 2 ? 0 : 2;
}
