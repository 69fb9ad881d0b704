// A sensor loop on std::pmr containers that never asks the heap for anything once it runs.
//
// What lives for one round comes from an arena that is reset behind it; what lives longer comes from a pool. Both were
// mapped and prefaulted before the first round. Whatever names no resource meets the refusing one, instead of the heap.
//
//     sensor_loop [ROUNDS]
#include <flatline/resource.hpp>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <list>
#include <map>
#include <memory_resource>
#include <string>
#include <vector>

/* Which part of its life the program is in. Only the tests read it: they require that the heap is not called while it
 * is STEADY. */
enum Phase { STARTING, STEADY, ENDING };
volatile Phase phase;

namespace {

constexpr int devices = 64;
constexpr int readings_a_round = 500;
constexpr std::size_t history_length = 16;

struct Reading { // 80 bytes
    int device;
    double temperature, pressure;
    std::uint64_t time;
    char label[48];
};

struct Device {
    explicit Device(std::pmr::memory_resource *resource) : warm(resource) {}
    std::pmr::list<double> warm; // the last temperatures above 30 degrees
    std::uint64_t readings = 0;
};

using Devices = std::pmr::map<int, Device>;

Reading read_sensor(std::uint64_t round, int number) {
    const std::uint64_t noise = (round * readings_a_round + static_cast<std::uint64_t>(number)) * 6364136223846793005u;
    Reading reading{};
    reading.device = static_cast<int>(noise >> 40) % devices;
    reading.temperature = 15 + static_cast<double>(noise >> 50 & 1023) / 50;
    reading.pressure = 1013;
    reading.time = round;
    std::snprintf(reading.label, sizeof reading.label, "Temperature_Sensor_%d", reading.device);
    return reading;
}

// One round: collects, keeps what is warm, and reports. Returns the length of the report.
std::size_t run_round(std::uint64_t round, std::pmr::memory_resource &for_this_round, Devices &known,
                      std::pmr::memory_resource &for_longer) {
    std::pmr::vector<Reading> readings(&for_this_round);
    readings.reserve(readings_a_round);
    for (int i = 0; i < readings_a_round; i++) readings.push_back(read_sensor(round, i));
    std::pmr::string report(&for_this_round);
    for (const Reading &reading : readings) {
        Device &device = known.try_emplace(reading.device, &for_longer).first->second;
        device.readings++;
        if (reading.temperature < 30) continue;
        device.warm.push_back(reading.temperature);
        if (device.warm.size() > history_length) device.warm.pop_front();
        report.append(reading.label).append(" is warm\n");
    }
    return report.size();
}

} // namespace

int main(int argc, char **argv) {
    const int rounds = argc > 1 ? std::atoi(argv[1]) : 1000;

    flat_arena arena;
    if (flat_arena_create(&arena, 128 * 1024, nullptr) != FLAT_OK) return 1;
    const std::array<flat_class, 2> classes{{{32, devices * (history_length + 1)}, {128, devices}}};
    flat_pool_options options{};
    options.classes = classes.data();
    options.class_count = classes.size();
    flat_pool *pool = nullptr;
    if (flat_pool_create(&pool, &options, nullptr) != FLAT_OK) return 1;

    std::pmr::set_default_resource(flat::refusing_resource());
    flat::arena_resource for_this_round(arena);
    flat::pool_resource for_longer(*pool);
    std::size_t reported = 0;
    std::uint64_t counted = 0;
    {
        Devices known(&for_longer);
        phase = STEADY;
        for (int round = 0; round < rounds; round++) {
            reported += run_round(static_cast<std::uint64_t>(round), for_this_round, known, for_longer);
            flat_arena_reset(&arena); // everything of this round is gone, in one step
        }
        phase = ENDING;
        for (const auto &[number, device] : known) counted += device.readings;
    }

    flat_arena_stats stats;
    flat_arena_get_stats(&arena, &stats);
    std::printf("%d rounds: %zu bytes reported; a round took at most %zu of the arena's %zu bytes, refused: %llu\n",
                rounds, reported, stats.high_water, stats.bytes, static_cast<unsigned long long>(stats.refused));
    const bool nothing_left = flat_pool_visit(pool, nullptr, nullptr) == 0;
    flat_pool_destroy(pool);
    flat_arena_destroy(&arena);
    const bool all_counted = counted == static_cast<std::uint64_t>(rounds) * readings_a_round;
    return nothing_left && all_counted && stats.refused == 0 && flat::last_refusal().count == 0 ? 0 : 1;
}
