/* Right and wrong uses of a pool's block, one a run, for valgrind.py to watch through memcheck. */
#include <flatline/pool.h>

#include <stdio.h>
#include <string.h>

/* Accesses that no compiler drops. */
static void touch(char *address) { *(volatile char *)address = 1; }
static int look(const char *address) { return *(const volatile char *)address; }
static int branch_on(const char *address) { return look(address) == 7 ? puts("seven") : 0; }

static void right_use(flat_pool *pool, char *block) {
    memset(block, 1, 40);
    (void)branch_on(block + 39);
    (void)!flat_pool_free(pool, block);
    char *again = flat_pool_alloc(pool, 48);
    memset(again, 1, 48);
    void *many[3];
    if (flat_pool_alloc_many(pool, 20, many, 3) == 3) memset(many[2], 1, 20);
}
static void use_after_free(flat_pool *pool, char *block) {
    touch(block);
    (void)!flat_pool_free(pool, block);
    (void)look(block);
}
static void write_after_free(flat_pool *pool, char *block) {
    (void)!flat_pool_free(pool, block);
    touch(block + 39);
}
static void uninitialised_read(flat_pool *pool, char *block) {
    (void)pool;
    (void)branch_on(block + 8);
}
/* What the last tenant wrote is not the next one's. */
static void stale_content(flat_pool *pool, char *block) {
    memset(block, 1, 40);
    (void)!flat_pool_free(pool, block);
    (void)branch_on(flat_pool_alloc(pool, 40));
}
static void overflow_by_one(flat_pool *pool, char *block) {
    (void)pool;
    touch(block + 40);
}
static void never_handed_out(flat_pool *pool, char *block) {
    (void)pool;
    (void)look(block + 48);
}
static void after_reset(flat_pool *pool, char *block) {
    touch(block);
    flat_pool_reset(pool);
    (void)look(block);
}
static void usable_size(flat_pool *pool, char *block) {
    if (flat_pool_usable_size(pool, block) == 48) memset(block, 1, 48);
}

static _Alignas(64) char metadata[4096], blocks[4096];

static void after_destroy(flat_pool *pool, char *block) {
    flat_pool_destroy(pool);
    memset(blocks, 1, sizeof blocks);
    (void)branch_on(block);
}

static const struct {
    const char *name;
    void (*act)(flat_pool *pool, char *block);
} scenes[] = {
    {"right_use", right_use},
    {"use_after_free", use_after_free},
    {"write_after_free", write_after_free},
    {"uninitialised_read", uninitialised_read},
    {"stale_content", stale_content},
    {"overflow_by_one", overflow_by_one},
    {"never_handed_out", never_handed_out},
    {"after_reset", after_reset},
    {"usable_size", usable_size},
    {"after_destroy", after_destroy},
};

int main(int count, char **arguments) {
    const flat_class class = {48, 16};
    const flat_pool_options options = {.classes = &class, .class_count = 1};
    flat_pool *pool;
    if (count != 2) return 2;
    if (flat_pool_init(&pool, &options, (flat_memory){metadata, sizeof metadata},
                       (flat_memory){blocks, sizeof blocks}) != FLAT_OK) {
        return 3;
    }
    char *block = flat_pool_alloc(pool, 40);
    for (size_t i = 0; block != NULL && i < sizeof scenes / sizeof *scenes; i++) {
        if (strcmp(arguments[1], scenes[i].name) != 0) continue;
        scenes[i].act(pool, block);
        return 0;
    }
    return 4;
}
