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

/// What stays as it is while the server runs.
struct ServerFacts {
    std::string_view hostname, system, machine, version;
    std::string_view id; // at random, of this run
    std::uint32_t largest_body = 65535;
};

/// The longest of these texts, in bytes.
inline constexpr std::size_t longest_statistics = 1536;

/// Each writes what fits into `to`, and returns its size in bytes.
std::size_t statistics_of(const Job &job, Nanoseconds now, std::span<char> to);
std::size_t statistics_of(const Tube &tube, Nanoseconds now, std::span<char> to);
std::size_t statistics_of(const Broker &broker, const CommandCounts &commands, const ServerFacts &facts,
                          Nanoseconds now, std::span<char> to);

} // namespace flat::server
