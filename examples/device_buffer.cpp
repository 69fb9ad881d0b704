// Records laid out for a device, in the memory that it reads: nothing but the records is written there.
//
//     device_buffer [ROUNDS]
#include <flatline/resource.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory_resource>
#include <vector>

/* Which part of its life the program is in. Only the tests read it: they require that the heap is not called while it
 * is STEADY. */
enum Phase { STARTING, STEADY, ENDING };
volatile Phase phase;

namespace {

struct Sample {
    std::uint32_t channel, value;
};

// Stands for a device's buffer: mapped from its driver's file, or shared with another process.
alignas(4096) unsigned char buffer[4096];

// What the device would read: the sum of every value from the buffer's start on.
std::uint64_t sum_seen_by_device(std::size_t samples) {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < samples; i++) {
        Sample sample;
        std::memcpy(&sample, buffer + i * sizeof sample, sizeof sample);
        sum += sample.value;
    }
    return sum;
}

} // namespace

int main(int argc, char **argv) {
    const std::uint32_t rounds = argc > 1 ? static_cast<std::uint32_t>(std::atoi(argv[1])) : 1000;
    flat::region_resource region(flat_memory{buffer, sizeof buffer});
    std::uint64_t sent = 0, received = 0;
    phase = STEADY;
    for (std::uint32_t round = 0; round < rounds; round++) {
        {
            std::pmr::vector<Sample> samples(&region);
            samples.reserve(256);
            for (std::uint32_t channel = 0; channel < 256; channel++) {
                samples.push_back({channel, round ^ channel});
                sent += round ^ channel;
            }
            received += sum_seen_by_device(samples.size());
        }
        flat_arena_reset(&region.source()); // the device has read it
    }
    phase = ENDING;
    flat_arena_stats stats;
    flat_arena_get_stats(&region.source(), &stats);
    std::printf("%u transfers of at most %zu bytes\n", rounds, stats.high_water);
    return sent == received && stats.high_water == 256 * sizeof(Sample) && stats.refused == 0 ? 0 : 1;
}
