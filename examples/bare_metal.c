/* Packets of a radio on a board without an operating system: libflatline-core and static arrays, and nothing else.
 * What the board has to bring, bare_metal_start.c shows. */
#include <flatline/pool.h>
#include <stdalign.h>

#define PACKETS 8
#define PACKET_BYTES 256

static alignas(64) unsigned char metadata[1024];
static alignas(PACKET_BYTES) unsigned char packets[PACKETS * PACKET_BYTES];

/* Called for each packet that comes in. NULL: all are in use, and this one is dropped; the caller loses no time. */
static unsigned char *receive(flat_pool *pool, unsigned char first_byte) {
    unsigned char *packet = flat_pool_alloc(pool, PACKET_BYTES);
    if (packet != NULL) packet[0] = first_byte;
    return packet;
}

/* 0 iff everything came true. */
int main(void) {
    const flat_class classes[] = {{.block_size = PACKET_BYTES, .block_count = PACKETS}};
    const flat_pool_options options = {.classes = classes, .class_count = 1};
    flat_pool *pool;
    const flat_memory for_metadata = {.start = metadata, .size = sizeof metadata};
    const flat_memory for_blocks = {.start = packets, .size = sizeof packets};
    if (flat_pool_init(&pool, &options, for_metadata, for_blocks) != FLAT_OK) return 1;

    unsigned char *received[PACKETS];
    for (unsigned char i = 0; i < PACKETS; i++) {
        received[i] = receive(pool, i);
        if (received[i] == NULL) return 2;
    }
    if (receive(pool, 0) != NULL) return 3; /* the ninth of eight */
    for (unsigned char i = 0; i < PACKETS; i++) {
        if (received[i][0] != i || flat_pool_free(pool, received[i]) != FLAT_OK) return 4;
    }
    return flat_pool_free(pool, received[0]) == FLAT_DOUBLE_FREE ? 0 : 5;
}
