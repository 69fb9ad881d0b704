/* Counts the different words of a text that it makes itself, by a tree of blocks that malloc serves: a program that
 * knows nothing of Flatline, for with_malloc.sh. */
#include <stdio.h>
#include <stdlib.h>

typedef struct node {
    struct node *smaller, *larger;
    unsigned word, count;
} node;

static int add(node **at, unsigned word) {
    while (*at != NULL && (*at)->word != word) at = word < (*at)->word ? &(*at)->smaller : &(*at)->larger;
    if (*at == NULL) *at = calloc(1, sizeof **at);
    if (*at == NULL) return 0;
    (*at)->word = word;
    (*at)->count++;
    return 1;
}

static unsigned give(node *tree) {
    if (tree == NULL) return 0;
    unsigned words = 1 + give(tree->smaller) + give(tree->larger);
    free(tree);
    return words;
}

int main(void) {
    node *tree = NULL;
    unsigned word = 1;
    for (int i = 0; i < 200000; i++) {
        word = word * 1103515245 + 12345;
        if (!add(&tree, word >> 16)) return 1;
    }
    unsigned words = give(tree);
    printf("%u different words\n", words);
    return words > 1000 ? 0 : 1;
}
