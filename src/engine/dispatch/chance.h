/* Random numbers for choices: SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014).
 * The same seed gives the same choices. */
#ifndef FLATLINE_ENGINE_DISPATCH_CHANCE_H
#define FLATLINE_ENGINE_DISPATCH_CHANCE_H

#include <stdint.h>

typedef struct chance {
    uint64_t state;
} chance;

/* Any 64 bits. No loop, no branch. */
static inline uint64_t chance_bits(chance *of) {
    uint64_t bits = of->state += UINT64_C(0x9e3779b97f4a7c15);
    bits = (bits ^ bits >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    bits = (bits ^ bits >> 27) * UINT64_C(0x94d049bb133111eb);
    return bits ^ bits >> 31;
}

/* A number below `count`, which is 1 to 2^16. Each is as likely as any other, to one in 2^16. */
static inline uint32_t chance_below(chance *of, uint32_t count) {
    return (uint32_t)((chance_bits(of) >> 32) * count >> 32);
}

#endif
