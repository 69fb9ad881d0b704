/* Wrong on purpose: reads a block after giving it back. The pool cannot see a read; a memory checker that the pool
 * tells about its blocks can. with_address_sanitizer.sh and with_valgrind.sh require that it does. */
#include <flatline/pool.h>

int main(void) {
    const flat_class classes[] = {{.block_size = 64, .block_count = 16}};
    const flat_pool_options options = {.classes = classes, .class_count = 1};
    flat_pool *pool;
    if (flat_pool_create(&pool, &options, NULL) != FLAT_OK) return 1;
    volatile char *block = flat_pool_alloc(pool, 40);
    if (block == NULL) return 1;
    block[0] = 'a';
    if (flat_pool_free(pool, (void *)block) != FLAT_OK) return 1;
    return block[0] == 'a' ? 0 : 1; /* the mistake */
}
