/* An audio callback: its buffers come from an arena that begins anew with every call. A call that asks for more than
 * the arena has plays silence and is over in time; afterwards the statistics say how large the arena should have been.
 */
#include <flatline/arena.h>
#include <stdalign.h>
#include <stdio.h>
#include <string.h>

#define MOST_FRAMES 512
#define VOICES 8
#define CALLS 1000

/* The buffers of all voices and the mix, and nothing more. */
static alignas(64) unsigned char memory[(VOICES + 1) * MOST_FRAMES * sizeof(float)];

/* Which part of its life the program is in. Only the tests read it: they require that the heap is not called while it
 * is STEADY. */
volatile enum { STARTING, STEADY, ENDING } phase;

/* A buffer that begins at a cache line, as vector instructions like it. NULL iff the arena is exhausted. */
static float *buffer(flat_arena *arena, size_t frames) {
    return flat_arena_aligned_alloc(arena, 64, frames * sizeof(float));
}

/* A voice's next samples: here, its number. */
static void play(int voice, float *samples, size_t frames) {
    for (size_t i = 0; i < frames; i++) samples[i] = (float)voice;
}

/* False iff it had to play silence. */
static bool callback(flat_arena *arena, int voices, float *output, size_t frames) {
    flat_arena_reset(arena);
    memset(output, 0, frames * sizeof(float));
    float *mix = buffer(arena, frames);
    if (mix == NULL) return false;
    memset(mix, 0, frames * sizeof(float));
    for (int voice = 1; voice <= voices; voice++) {
        float *samples = buffer(arena, frames);
        if (samples == NULL) return false;
        play(voice, samples, frames);
        for (size_t i = 0; i < frames; i++) mix[i] += samples[i];
    }
    memcpy(output, mix, frames * sizeof(float));
    return true;
}

int main(void) {
    static float output[MOST_FRAMES];
    flat_arena arena;
    flat_arena_stats stats;
    if (flat_arena_init(&arena, (flat_memory){memory, sizeof memory}) != FLAT_OK) return 1;

    phase = STEADY;
    int heard = 0;
    for (int call = 0; call < CALLS; call++) {
        const size_t frames = (size_t)64 << call % 4; /* 64, 128, 256, 512 */
        const bool played = callback(&arena, VOICES, output, frames);
        heard += played && output[0] == 36.0F && output[frames - 1] == 36.0F; /* 1 + 2 + ... + 8 */
    }
    flat_arena_get_stats(&arena, &stats);
    const bool enough = stats.refused == 0 && stats.high_water == sizeof memory;

    /* One voice too many: silence, a count, and the bytes that it would have taken. */
    const bool silent = !callback(&arena, VOICES + 1, output, MOST_FRAMES) && output[0] == 0.0F;
    flat_arena_get_stats(&arena, &stats);
    const bool told = stats.refused == 1 && stats.needed == sizeof memory + MOST_FRAMES * sizeof(float);
    phase = ENDING;

    (void)printf("%d of %d calls heard; %zu bytes, %zu for one voice more\n", heard, CALLS, stats.bytes, stats.needed);
    flat_arena_destroy(&arena);
    return heard == CALLS && enough && silent && told ? 0 : 1;
}
