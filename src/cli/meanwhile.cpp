#include "meanwhile.hpp"

namespace flat::cli {
namespace {

constexpr std::chrono::seconds often_enough{10};

} // namespace

Meanwhile::Meanwhile(bench::Circumstances &about) : about_(about) {
    about.started = bench::now_text();
    about.machine = bench::read_machine(about.cpu);
    about.hiccups_before = bench::meter_hiccups(about.cpu);
    metered_ = Clock::now();
    about.time_before = bench::read_processor_time(about.cpu);
}

void Meanwhile::between_rounds() {
    if (Clock::now() - metered_ < often_enough) return;
    about_.hiccups_between = together(about_.hiccups_between, bench::meter_hiccups(about_.cpu));
    metered_ = Clock::now();
}

void Meanwhile::finish() {
    about_.time_after = bench::read_processor_time(about_.cpu);
    about_.hiccups_after = bench::meter_hiccups(about_.cpu);
    about_.duration_seconds = std::chrono::duration<double>(Clock::now() - began_).count();
}

} // namespace flat::cli
