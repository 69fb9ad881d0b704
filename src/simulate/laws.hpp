// What queueing theory says of systems simple enough for it. Times are in the unit of the service times that are given;
// `load` is the offered load of each server, below 1 where there is a queue.
#pragma once

#include "service.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace flat::simulate {

/// M/M/1: mean, and the value that a share of all sojourns do not exceed.
double mm1_mean(double load, double service);
double mm1_at(double load, double service, double share);

/// M/M/k (Erlang C): the share that waits, the mean sojourn, and the value that a share of all do not exceed.
double erlang_c(std::uint32_t servers, double load);
double mmk_mean(std::uint32_t servers, double load, double service);
double mmk_at(std::uint32_t servers, double load, double service, double share);

/// M/G/1 (Pollaczek and Khinchine): the mean sojourn.
double mg1_mean(double load, const Service &service);

/// M/G/1: the value that a share of all sojourns do not exceed. What waits is a geometric sum of rests of services,
/// which Panjer's recursion adds up on a grid of `steps` to the mean service time, once rounded down and once up: the
/// value is between the two. O(steps^2 * (value / mean)^2).
struct Bounds {
    double low, high;
};
Bounds mg1_at(double load, const Service &service, double share, std::uint32_t steps);

/// Erlang B: the share that is refused by `servers` without a queue, at `offered` erlangs.
double erlang_b(std::uint32_t servers, double offered);

/// Kaufman and Roberts: the share of each type that is refused by a pool of `blocks`, of which a task of type i takes
/// blocks_of[i], at offered[i] erlangs.
std::vector<double> kaufman_roberts(std::uint32_t blocks, std::span<const double> offered,
                                    std::span<const std::uint32_t> blocks_of);

/// The shorter queue of two at random, as servers become many (Mitzenmacher; Vvedenskaya, Dobrushin, Karpelevich): the
/// mean sojourn with exponential service, and the value that a share of all do not exceed.
double two_choices_mean(double load, double service);
double two_choices_at(double load, double service, double share);

} // namespace flat::simulate
