#include "statistics_text.hpp"

#include <fmt/format.h>

#include <sys/resource.h>
#include <unistd.h>

namespace flat::server {
namespace {

class Yaml {
  public:
    explicit Yaml(std::span<char> to) : to_(to) { add("---\n"); }

    template <class Value> Yaml &line(std::string_view name, const Value &value) {
        add("{}: {}\n", name, value);
        return *this;
    }

    std::size_t size() const { return size_; }

  private:
    template <class... Values> void add(fmt::format_string<Values...> text, Values &&...values) {
        const auto done =
            fmt::format_to_n(to_.data() + size_, to_.size() - size_, text, std::forward<Values>(values)...);
        size_ = static_cast<std::size_t>(done.out - to_.data());
    }

    std::span<char> to_;
    std::size_t size_ = 0;
};

constexpr std::string_view state_of(JobState state) {
    switch (state) {
    case JobState::unborn: break;
    case JobState::ready: return "ready";
    case JobState::delayed: return "delayed";
    case JobState::reserved: return "reserved";
    case JobState::buried: return "buried";
    }
    return "invalid";
}

// Whole seconds until then.
std::uint64_t seconds_until(Nanoseconds then, Nanoseconds now) { return then > now ? (then - now) / second : 0; }

// Seconds and microseconds.
std::string_view time_text(const timeval &time, std::span<char> to) {
    const auto done = fmt::format_to_n(to.data(), to.size(), "{}.{:06}", time.tv_sec, time.tv_usec);
    return {to.data(), done.out};
}

// The names of the commands that are counted, in the order in which they are told.
constexpr std::array<std::pair<std::string_view, Verb>, 24> told{
    {{"cmd-put", Verb::put},
     {"cmd-peek", Verb::peek},
     {"cmd-peek-ready", Verb::peek_ready},
     {"cmd-peek-delayed", Verb::peek_delayed},
     {"cmd-peek-buried", Verb::peek_buried},
     {"cmd-reserve", Verb::reserve},
     {"cmd-reserve-with-timeout", Verb::reserve_with_timeout},
     {"cmd-delete", Verb::delete_job},
     {"cmd-release", Verb::release},
     {"cmd-use", Verb::use},
     {"cmd-watch", Verb::watch},
     {"cmd-ignore", Verb::ignore},
     {"cmd-bury", Verb::bury},
     {"cmd-kick", Verb::kick},
     {"cmd-touch", Verb::touch},
     {"cmd-stats", Verb::stats},
     {"cmd-stats-job", Verb::stats_job},
     {"cmd-stats-tube", Verb::stats_tube},
     {"cmd-list-tubes", Verb::list_tubes},
     {"cmd-list-tube-used", Verb::list_tube_used},
     {"cmd-list-tubes-watched", Verb::list_tubes_watched},
     {"cmd-pause-tube", Verb::pause_tube},
     {"cmd-kick-job", Verb::kick_job},
     {"cmd-reserve-job", Verb::reserve_job}}};

} // namespace

std::size_t statistics_of(const Job &job, Nanoseconds now, std::span<char> to) {
    const bool has_time = job.state == JobState::reserved || job.state == JobState::delayed;
    return Yaml(to)
        .line("id", job.id)
        .line("tube", job.tube->name())
        .line("state", state_of(job.state))
        .line("pri", job.priority)
        .line("age", seconds_until(now, job.created))
        .line("delay", job.delay)
        .line("ttr", job.time_to_run)
        .line("time-left", has_time ? seconds_until(job.due, now) : 0)
        .line("file", 0)
        .line("reserves", job.reserves)
        .line("timeouts", job.timeouts)
        .line("releases", job.releases)
        .line("buries", job.buries)
        .line("kicks", job.kicks)
        .size();
}

std::size_t statistics_of(const Tube &tube, Nanoseconds now, std::span<char> to) {
    return Yaml(to)
        .line("name", tube.name())
        .line("current-jobs-urgent", tube.urgent)
        .line("current-jobs-ready", tube.ready.size())
        .line("current-jobs-reserved", tube.reserved)
        .line("current-jobs-delayed", tube.delayed.size())
        .line("current-jobs-buried", tube.buried.size())
        .line("total-jobs", tube.created_jobs)
        .line("current-using", tube.users)
        .line("current-watching", tube.watchers)
        .line("current-waiting", tube.waiting.size())
        .line("cmd-delete", tube.deletes)
        .line("cmd-pause-tube", tube.pauses)
        .line("pause", tube.paused_until > now ? tube.pause : 0)
        .line("pause-time-left", seconds_until(tube.paused_until, now))
        .size();
}

std::size_t statistics_of(const BrokerCounts &counts, const ClientCounts &clients, bool is_draining,
                          const ServerFacts &facts, Nanoseconds now, std::span<char> to) {
    Yaml yaml(to);
    yaml.line("current-jobs-urgent", counts.urgent)
        .line("current-jobs-ready", counts.ready)
        .line("current-jobs-reserved", counts.reserved)
        .line("current-jobs-delayed", counts.delayed)
        .line("current-jobs-buried", counts.buried);
    for (const auto &[name, verb] : told) yaml.line(name, clients.commands[static_cast<std::size_t>(verb)]);
    rusage usage{};
    (void)getrusage(RUSAGE_SELF, &usage); // cannot fail for these arguments
    std::array<char, 32> user, system;
    return yaml.line("job-timeouts", counts.timeouts)
        .line("total-jobs", counts.total_jobs)
        .line("max-job-size", facts.largest_body)
        .line("current-tubes", counts.tubes)
        .line("current-connections", clients.clients)
        .line("current-producers", clients.producers)
        .line("current-workers", clients.workers)
        .line("current-waiting", clients.waiting)
        .line("total-connections", clients.all_clients)
        .line("pid", getpid())
        .line("version", facts.version)
        .line("rusage-utime", time_text(usage.ru_utime, user))
        .line("rusage-stime", time_text(usage.ru_stime, system))
        .line("uptime", now / second)
        .line("binlog-oldest-index", 0)
        .line("binlog-current-index", 0)
        .line("binlog-records-migrated", 0)
        .line("binlog-records-written", 0)
        .line("binlog-max-size", 0)
        .line("draining", is_draining)
        .line("id", facts.id)
        .line("hostname", facts.hostname)
        .line("os", facts.system)
        .line("platform", facts.machine)
        .size();
}

} // namespace flat::server
