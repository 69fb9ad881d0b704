#include "forecast.hpp"

namespace flat::bench {
namespace {

constexpr std::size_t few = 5; // turns: fewer are not enough for an estimate

} // namespace

Forecast::Forecast(const std::vector<double> &usual) {
    for (const double each : usual) kinds_.push_back({each});
}

void Forecast::add(std::size_t kind, double seconds) {
    kinds_[kind].spent += seconds;
    ++kinds_[kind].done;
    --kinds_[kind].to_come;
}

double Forecast::seconds_left() const {
    double spent = 0, usual = 0;
    std::size_t done = 0;
    for (const Kind &kind : kinds_) {
        spent += kind.spent;
        usual += kind.usual * static_cast<double>(kind.done);
        done += kind.done;
    }
    if (done < few) return -1;
    double left = 0;
    for (const Kind &kind : kinds_) {
        const double each = kind.done > 0 ? kind.spent / static_cast<double>(kind.done) : kind.usual * spent / usual;
        left += each * static_cast<double>(kind.to_come);
    }
    return left;
}

} // namespace flat::bench
