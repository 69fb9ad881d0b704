// The YAML with which `stats` and its kin are answered.
#pragma once

#include "broker.hpp"

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

namespace flat::server {

/// How often each command was given.
using CommandCounts = std::array<std::uint64_t, static_cast<std::size_t>(Verb::quit) + 1>;

/// Of the clients at one shard.
struct ClientCounts {
    std::uint64_t clients = 0, all_clients = 0, producers = 0, workers = 0, waiting = 0;
    CommandCounts commands{};

    ClientCounts &operator+=(const ClientCounts &other) {
        clients += other.clients;
        all_clients += other.all_clients;
        producers += other.producers;
        workers += other.workers;
        waiting += other.waiting;
        for (std::size_t i = 0; i < commands.size(); i++) commands[i] += other.commands[i];
        return *this;
    }
};

/// What stays as it is while the server runs.
struct ServerFacts {
    std::string_view hostname, system, machine, version;
    std::string_view id; // at random, of this run
    std::uint32_t largest_body = 65535;
    std::size_t longest_list = 0; // bytes of an answer with the names of all tubes
};

/// The longest of these texts, in bytes.
inline constexpr std::size_t longest_statistics = 1536;

/// Each writes what fits into `to`, and returns its size in bytes.
std::size_t statistics_of(const Job &job, Nanoseconds now, std::span<char> to);
std::size_t statistics_of(const Tube &tube, Nanoseconds now, std::span<char> to);
std::size_t statistics_of(const BrokerCounts &jobs, const ClientCounts &clients, bool is_draining,
                          const ServerFacts &facts, Nanoseconds now, std::span<char> to);

} // namespace flat::server
