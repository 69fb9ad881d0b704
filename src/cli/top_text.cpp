#include "top_text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string_view>

#include <fmt/format.h>

namespace flat::cli {
namespace {

constexpr std::size_t wide = 100; // columns from which on all is shown

/// A line that never exceeds its width: what does not fit is cut off.
class LineMaker {
  public:
    explicit LineMaker(std::size_t width) : left_(width) {}

    LineMaker &add(std::string_view text, Style style = Style::plain) {
        const std::string_view shown = text.substr(0, left_);
        left_ -= shown.size();
        if (!shown.empty()) line_.emplace_back(shown, style);
        return *this;
    }
    LineMaker &right(std::string_view text, std::size_t columns, Style style = Style::plain) {
        return add(fmt::format("{:>{}}", text, columns), style);
    }
    LineMaker &left(std::string_view text, std::size_t columns, Style style = Style::plain) {
        return add(fmt::format("{:<{}.{}}", text, columns, columns), style);
    }
    StyledLine line() { return std::move(line_); }

  private:
    StyledLine line_;
    std::size_t left_;
};

StyledLine plain_line(std::string_view text, std::size_t width, Style style = Style::plain) {
    return LineMaker(width).add(text, style).line();
}

/// A number that is worth a look if it is not 0.
Style alarming(std::uint64_t count) { return count == 0 ? Style::plain : Style::bad; }

std::string_view doing_text(Doing doing) {
    switch (doing) {
    case Doing::nothing: return "looking";
    case Doing::running: return "running";
    case Doing::sleeping: return "asleep";
    case Doing::not_there: break;
    }
    return "-";
}

std::string number_or_dash(std::uint64_t number) { return number == 0 ? "-" : fmt::format("{}", number); }

// The head ------------------------------------------------------------------------------------------------------------

StyledLine head_line(const EnginePage &page, std::size_t width) {
    std::uint64_t overruns = 0;
    for (const EngineWorker &worker : page.workers) overruns += worker.overruns;
    LineMaker made(width);
    made.add("engine ").add(page.state, page.state == "open" ? Style::good : Style::bad);
    made.add(fmt::format(", up {}, {} worker{}, {} lane{}", short_time(page.up_ns), page.workers.size(),
                         page.workers.size() == 1 ? "" : "s", page.lanes, page.lanes == 1 ? "" : "s"));
    if (page.watchdog_ns != 0) {
        made.add(fmt::format(", watchdog at {}: ", short_time(page.watchdog_ns)));
        made.add(fmt::format("{} reported", short_count(static_cast<double>(overruns))), alarming(overruns));
    }
    return made.line();
}

/// "" iff it is not measured.
std::string gain_text(const EnginePage &page) {
    if (!page.gain) return "";
    const flat_dispatch_gain &gain = *page.gain;
    const std::string counted = fmt::format("{} and {} tasks", short_count(static_cast<double>(gain.tasks)),
                                            short_count(static_cast<double>(gain.fallback_tasks)));
    if (!gain.known) return fmt::format("dispatch {}: its gain is not known yet, {} counted", page.policy, counted);
    return fmt::format("dispatch {}: gain {:.0f} % ({:.0f} to {:.0f} %) at P99.9, {} for {}, {}", page.policy,
                       100 * gain.gain, 100 * gain.gain_low, 100 * gain.gain_high, short_time(gain.p999_ns),
                       short_time(gain.fallback_p999_ns), counted);
}

// The workers ---------------------------------------------------------------------------------------------------------

/// The columns of a worker: on a narrow screen without its thread, and with a shorter name of its task.
struct WorkerColumns {
    explicit WorkerColumns(std::size_t width) : is_wide(width >= wide), task(is_wide ? 24 : 13) {}
    bool is_wide;
    std::size_t task;
};

StyledLine worker_heading_above(const WorkerColumns &columns, std::size_t width) {
    return LineMaker(width)
        .left("", (columns.is_wide ? 24 : 15) + columns.task + 9)
        .right("tasks per s", 12, Style::faint)
        .right("queued by urgency", 20, Style::faint)
        .right("waiting", 11, Style::faint)
        .line();
}

StyledLine worker_heading(const WorkerColumns &columns, std::size_t width) {
    LineMaker made(width);
    made.right("worker", 6, Style::faint);
    if (columns.is_wide) made.right("thread", 9, Style::faint);
    made.left("", 1).left("state", 8, Style::faint).left("task", columns.task, Style::faint);
    made.right("for", 9, Style::faint).right("in", 6, Style::faint).right("out", 6, Style::faint);
    for (const char *urgency : {"3", "2", "1", "0"}) made.right(urgency, 5, Style::faint);
    return made.right("timed", 6, Style::faint).right("lane", 5, Style::faint).line();
}

StyledLine worker_line(std::size_t number, const EngineWorker &worker, const EnginePage &page,
                       const NameOfFunction &name_of, const WorkerColumns &columns, std::size_t width) {
    const bool is_late = page.watchdog_ns != 0 && worker.running_ns > page.watchdog_ns;
    const Style style = is_late ? Style::bad : worker.doing == Doing::running ? Style::plain : Style::faint;
    LineMaker made(width);
    made.right(fmt::format("{}", number), 6);
    if (columns.is_wide) made.right(number_or_dash(worker.thread), 9);
    made.left("", 1).left(doing_text(worker.doing), 8, style);
    made.left(worker.run != 0 ? name_of(worker.run) : "", columns.task, style);
    made.right(worker.run != 0 ? short_time(worker.running_ns) : "", 9, style);
    made.right(short_count(worker.arrivals_per_s), 6).right(short_count(worker.drains_per_s), 6);
    for (std::size_t urgency = worker.queued.size(); urgency-- > 0;)
        made.right(short_count(static_cast<double>(worker.queued[urgency])), 5);
    made.right(short_count(static_cast<double>(worker.timed)), 6);
    return made.right(short_count(static_cast<double>(worker.untaken)), 5).line();
}

void add_workers(std::vector<StyledLine> &lines, const EnginePage &page, const NameOfFunction &name_of,
                 std::size_t width) {
    const WorkerColumns columns(width);
    lines.push_back(worker_heading_above(columns, width));
    lines.push_back(worker_heading(columns, width));
    for (std::size_t i = 0; i < page.workers.size(); ++i)
        lines.push_back(worker_line(i, page.workers[i], page, name_of, columns, width));
}

// Tails ---------------------------------------------------------------------------------------------------------------

constexpr std::array<std::string_view, FLAT_DURATIONS> duration_names{"waiting", "service", "sojourn"};

/// Of all workers, since the look before.
flat_histogram durations_of(const EngineLook &look, std::size_t duration) {
    flat_histogram all{};
    for (std::size_t i = 0; i < look.now.workers.size(); ++i) {
        flat_histogram added = look.now.workers[i].durations[duration];
        if (look.before && i < look.before->workers.size())
            flat_histogram_subtract(&added, &look.before->workers[i].durations[duration]);
        flat_histogram_merge(&all, &added);
    }
    return all;
}

void add_tails(std::vector<StyledLine> &lines, const EngineLook &look, std::size_t width) {
    const std::string since = look.before ? fmt::format("last {:.1f} s", look.seconds) : "since its start";
    LineMaker heading(width);
    heading.left(fmt::format("times, {}", since), 24, Style::faint);
    for (const char *column : {"P50", "P99", "P99.9", "max", "tasks"}) heading.right(column, 11, Style::faint);
    lines.push_back(heading.line());
    for (std::size_t i = 0; i < duration_names.size(); ++i) {
        const flat_histogram all = durations_of(look, i);
        const std::uint64_t count = flat_histogram_count(&all);
        LineMaker made(width);
        made.left(fmt::format("  {}", duration_names[i]), 24);
        for (const double fraction : {0.5, 0.99, 0.999, 1.0})
            made.right(count == 0 ? "-" : short_time(flat_histogram_quantile(&all, fraction)), 11);
        lines.push_back(made.right(short_count(static_cast<double>(count)), 11).line());
    }
}

/// "quote 5.1 us, risk 30.2 us": of each type the mean of the workers' estimates.
std::string estimates_text(const EnginePage &page) {
    std::string text;
    for (std::size_t type = 0; type < page.types.size(); ++type) {
        double sum = 0;
        int count = 0;
        for (const EngineWorker &worker : page.workers) {
            sum += static_cast<double>(worker.estimate_ns[type]);
            count += worker.estimate_ns[type] != 0;
        }
        if (count == 0) continue;
        const std::string name = page.types[type].empty() ? fmt::format("type {}", type) : page.types[type];
        text +=
            fmt::format("{}{} {}", text.empty() ? "" : ", ", name, short_time(static_cast<std::uint64_t>(sum / count)));
    }
    return text;
}

/// How the tasks ended that ever did.
std::string outcomes_text(const EnginePage &page) {
    std::array<double, 3> ended{};
    for (const EngineWorker &worker : page.workers)
        for (std::size_t i = 0; i < ended.size(); ++i) ended[i] += static_cast<double>(worker.outcomes[i]);
    return fmt::format("  ended: {} done, {} expired, {} cancelled", short_count(ended[FLAT_TASK_DONE]),
                       short_count(ended[FLAT_TASK_EXPIRED]), short_count(ended[FLAT_TASK_CANCELLED]));
}

// Classes -------------------------------------------------------------------------------------------------------------

/// The classes of all workers together, by size; the inline payloads come last.
std::map<std::uint64_t, EngineClass> classes_of(const EnginePage &page) {
    std::map<std::uint64_t, EngineClass> all;
    for (const EngineWorker &worker : page.workers)
        for (const EngineClass &each : worker.classes) {
            EngineClass &sum = all[each.block_size - 1]; // 0 wraps: inline is last
            sum.block_size = each.block_size;
            sum.block_count += each.block_count;
            sum.granted += each.granted;
            sum.free += each.free;
            sum.in_flight += each.in_flight;
            sum.done += each.done;
            sum.over_limit += each.over_limit;
            sum.limit_ns = std::max(sum.limit_ns, each.limit_ns);
            sum.longest_run_ns = std::max(sum.longest_run_ns, each.longest_run_ns);
            sum.longest_sojourn_ns = std::max(sum.longest_sojourn_ns, each.longest_sojourn_ns);
        }
    return all;
}

StyledLine class_heading(std::size_t width) {
    LineMaker made(width);
    made.left("blocks", 10, Style::faint);
    for (const char *column : {"all", "free", "grants", "in use", "tasks"}) made.right(column, 8, Style::faint);
    if (width >= wide) made.right("limit", 10, Style::faint);
    made.right("over limit", 11, Style::faint).right("longest", 9, Style::faint);
    return made.right("sojourn", 9, Style::faint).line();
}

void add_classes(std::vector<StyledLine> &lines, const EnginePage &page, std::size_t width) {
    const auto count = [](std::uint64_t number) { return short_count(static_cast<double>(number)); };
    lines.push_back(class_heading(width));
    for (const auto &[size, each] : classes_of(page)) {
        const bool is_inline = each.block_size == 0;
        LineMaker made(width);
        made.left(is_inline ? "  inline" : fmt::format("  {} B", each.block_size), 10);
        made.right(is_inline ? "-" : count(each.block_count), 8).right(is_inline ? "-" : count(each.free), 8);
        made.right(count(each.granted), 8);
        made.right(count(each.in_flight), 8, each.in_flight >= each.granted ? alarming(each.granted) : Style::plain);
        made.right(count(each.done), 8);
        if (width >= wide) made.right(each.limit_ns == 0 ? "-" : short_time(each.limit_ns), 10);
        made.right(each.limit_ns == 0 ? "-" : count(each.over_limit), 11, alarming(each.over_limit));
        made.right(short_time(each.longest_run_ns), 9).right(short_time(each.longest_sojourn_ns), 9);
        lines.push_back(made.line());
    }
}

// Submitters ----------------------------------------------------------------------------------------------------------

constexpr std::array<std::string_view, FLAT_REFUSALS> refusal_names{"no grant", "ring full", "late", "draining",
                                                                    "invalid"};

/// What was accepted or refused in each second since the look before, or in all.
double change_of(std::uint64_t now, std::uint64_t before, const EngineLook &look) {
    if (!look.before || look.seconds <= 0) return static_cast<double>(now);
    return now > before ? static_cast<double>(now - before) / look.seconds : 0;
}

StyledLine submitter_line(const EngineSubmitter &now, const EngineSubmitter &before, std::string_view name,
                          const EngineLook &look, std::size_t width) {
    LineMaker made(width);
    made.left(name, 12).right(number_or_dash(now.thread), 8);
    made.right(short_count(change_of(now.accepted, before.accepted, look)), 10);
    for (std::size_t i = 0; i < now.refused.size(); ++i)
        made.right(short_count(change_of(now.refused[i], before.refused[i], look)), 10, alarming(now.refused[i]));
    return made.line();
}

bool is_in_use(const EngineSubmitter &submitter) {
    return submitter.thread != 0 || submitter.accepted != 0 ||
           std::ranges::any_of(submitter.refused, [](std::uint64_t count) { return count != 0; });
}

void add_submitters(std::vector<StyledLine> &lines, const EngineLook &look, std::size_t width) {
    LineMaker heading(width);
    heading.left(look.before ? "tasks per s" : "tasks", 12, Style::faint).right("thread", 8, Style::faint);
    heading.right("accepted", 10, Style::faint);
    for (const std::string_view reason : refusal_names) heading.right(reason, 10, Style::faint);
    lines.push_back(heading.line());
    const std::vector<EngineSubmitter> &all = look.now.submitters;
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (!is_in_use(all[i])) continue;
        const std::string name =
            all[i].worker ? fmt::format("  worker {}", *all[i].worker) : fmt::format("  lane {}", i);
        const bool has_before = look.before && i < look.before->submitters.size();
        lines.push_back(
            submitter_line(all[i], has_before ? look.before->submitters[i] : EngineSubmitter{}, name, look, width));
    }
}

} // namespace

std::size_t columns_of(const StyledLine &line) {
    std::size_t columns = 0;
    for (const auto &[text, style] : line) columns += text.size();
    return columns;
}

std::string short_time(std::uint64_t ns) {
    constexpr std::array<std::string_view, 3> units{"ns", "us", "ms"};
    double value = static_cast<double>(ns);
    for (const std::string_view unit : units) {
        if (value < (unit == "ns" ? 999.5 : 9.95)) return fmt::format("{:.{}f} {}", value, unit == "ns" ? 0 : 1, unit);
        if (value < 999.5) return fmt::format("{:.0f} {}", value, unit);
        value /= 1000;
    }
    if (value < 99.95) return fmt::format("{:.1f} s", value);
    if (value < 99999.5) return fmt::format("{:.0f} s", value);
    value /= 86400;
    return value < 9999.5 ? fmt::format("{:.0f} d", value) : ">9999 d";
}

std::string short_count(double count) {
    if (!(count >= 0)) return "-";
    if (count < 999.5) return fmt::format("{:.0f}", count);
    for (const char unit : {'k', 'M', 'G', 'T', 'P'}) {
        count /= 1000;
        if (count < 9.95) return fmt::format("{:.1f}{}", count, unit);
        if (count < 999.5) return fmt::format("{:.0f}{}", count, unit);
    }
    return ">999P";
}

std::vector<StyledLine> top_lines(const EngineLook &look, const NameOfFunction &name_of, std::size_t width) {
    std::vector<StyledLine> lines{head_line(look.now, width)};
    if (const std::string gain = gain_text(look.now); !gain.empty()) lines.push_back(plain_line(gain, width));
    const auto leave_space = [&] { lines.emplace_back(); };
    leave_space();
    add_workers(lines, look.now, name_of, width);
    leave_space();
    add_tails(lines, look, width);
    if (const std::string estimates = estimates_text(look.now); !estimates.empty())
        lines.push_back(plain_line("  service, estimated: " + estimates, width));
    lines.push_back(plain_line(outcomes_text(look.now), width));
    leave_space();
    add_classes(lines, look.now, width);
    leave_space();
    add_submitters(lines, look, width);
    return lines;
}

} // namespace flat::cli
