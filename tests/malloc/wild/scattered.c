/* Of 256 MiB of blocks one in so many stays, here and there: the free whole pages between them are returned to the OS
 * on request. Arguments: bytes of a block, one in how many stays. */
#include "wild.h"

#include <stdlib.h>

enum { ALL = 256 << 20 };

int main(int count, char **arguments) {
    size_t size = number(count, arguments, 1), stays = number(count, arguments, 2), blocks = ALL / size;
    void **block = filled(blocks * sizeof *block);
    tell(&(point){.name = "start", .threads = 1});
    for (size_t i = 0; i < blocks; i++) block[i] = filled(size);
    for (size_t i = 0; i < blocks; i++) {
        if (i % stays != 0) free(block[i]);
    }
    purge();
    tell(&(point){.name = "scattered-purged", .live = blocks / stays * in_steps(size), .threads = 1, .purged = true});
    for (size_t i = 0; i < blocks; i += stays) free(block[i]);
    purge();
    tell(&(point){.name = "freed-purged", .threads = 1, .purged = true});
    return RIGHT;
}
