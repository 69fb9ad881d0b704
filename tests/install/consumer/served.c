/* Only allocates by malloc. FLATLINE_STATS=1 shows which malloc served it. */
#include <stdlib.h>

int main(void) {
    for (int i = 0; i < 1000; i++) {
        void *volatile block = malloc(100);
        if (block == NULL) return 1;
        free(block);
    }
    return 0;
}
