#include "analysis.hpp"

#include "session.h"
#include "slow_calls.hpp"

#include "preload/stacks.h"
#include "symbols/site.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <tuple>

#include <fmt/format.h>

namespace flat::audit {
namespace {

constexpr double apart_ns = 10000;        // between two faults of a burst of first touch
constexpr std::size_t most_stacks = 5000; // in the words of the source, beside those of stalls

/// Leaves out the word for namespaces that have none: it makes names long, and tells nobody anything.
void shorten(std::string &name) {
    constexpr std::string_view nameless = "(anonymous namespace)::";
    for (std::size_t at = name.find(nameless); at != std::string::npos; at = name.find(nameless, at))
        name.erase(at, nameless.size());
}

/// Stacks in the words of the source, each looked up once.
class StackTexts {
  public:
    StackTexts(const History &history, Stacks stacks) : history_(history), stacks_(stacks) {}

    const Stack &of(std::uint32_t number) {
        const auto [place, is_new] = known_.try_emplace(number);
        if (!is_new) return place->second;
        Stack &stack = place->second;
        add_frames(stack, history_.frames(number), stacks_ == Stacks::all);
        if (!symbols::has_site(stack)) {
            stack.clear();
            add_frames(stack, history_.frames(number), true);
        }
        for (symbols::SourceFrame &frame : stack) shorten(frame.function);
        if (stack.empty()) stack.push_back({"not known", "", 0, false, ""});
        return stack;
    }

  private:
    void add_frames(Stack &to, std::span<const std::uint64_t> frames, bool of_run_time) {
        for (const std::uint64_t frame : frames) {
            if (stacks_ == Stacks::sites && has_enough(to)) return;
            const std::uint32_t file = frame_file(frame);
            if (file == 0) {
                to.push_back({fmt::format("{:#x}", frame_offset(frame) - 1), "", 0, false, ""});
            } else if (const std::string path = history_.text(file);
                       of_run_time || !symbols::is_run_time_library(path)) {
                const auto &found = frames_.at(path, frame_offset(frame), true);
                to.insert(to.end(), found.begin(), found.end());
            }
        }
    }

    static bool has_enough(const Stack &stack) {
        if (!symbols::has_site(stack)) return false;
        const auto site = stack.begin() + static_cast<std::ptrdiff_t>(symbols::site_of(stack));
        return std::count_if(site + 1, stack.end(), symbols::is_the_programs_own) >= callers_of_a_site;
    }

    const History &history_;
    Stacks stacks_;
    symbols::SourceFrames frames_;
    std::map<std::uint32_t, Stack> known_;
};

/// What other tasks have caused stands behind all others: no change to the program's allocations takes it away.
bool is_worse(const Stall &a, const Stall &b) {
    const bool a_last = a.cause.kind == CauseKind::preempted, b_last = b.cause.kind == CauseKind::preempted;
    if (a_last != b_last) return b_last;
    return a.total_ns != b.total_ns ? a.total_ns > b.total_ns : a.at_ns < b.at_ns;
}

class Analysis {
  public:
    Analysis(History &history, Stacks stacks)
        : history_(history), stacks_(stacks), texts_(history, stacks), slow_(history, limits()) {}

    Findings run() {
        slow_.read();
        tell_run();
        tell_sources();
        tell_curves();
        tell_threads();
        tell_stalls();
        tell_slow_calls();
        if (stacks_ == Stacks::all) tell_stacks();
        return std::move(findings_);
    }

  private:
    using Group = std::vector<const SlowSample *>;
    using Key = std::tuple<std::uint32_t, Cause, std::string>; // operation, cause, site

    double ns(std::uint64_t ticks) const { return history_.ns(ticks); }
    std::uint64_t ticks(double nanoseconds) const {
        return static_cast<std::uint64_t>(std::llround(nanoseconds / history_.ns(1)));
    }
    std::uint64_t number(const char *name) const { return history_.start().value(name, std::uint64_t{0}); }

    SlowCalls::Limits limits() const {
        SlowCalls::Limits limits;
        limits.over = ticks(history_.start().value("over_ns", 10000.0));
        limits.apart = ticks(apart_ns);
        limits.by_counts = !refused().empty();
        limits.all_calls = !attributes();
        limits.cost = {number("told_cost_ticks"), number("fault_outside_ticks"),
                       ticks(history_.start().value("fault_ns", 1000.0))};
        return limits;
    }
    bool attributes() const { return history_.start().value("attributes", false); }
    std::string refused() const { return history_.start().value("events_refused", std::string()); }

    void tell_run() {
        findings_.command = history_.start().value("command", std::string());
        findings_.machine = history_.start().value("machine", std::string());
        findings_.under = history_.start().value("under", std::string());
        findings_.over_ns = history_.start().value("over_ns", 10000.0);
        findings_.seconds = ns(history_.last_tick()) / 1e9;
        findings_.whole = history_.is_whole();
        findings_.timed = !attributes();
        if (const int status = history_.end().value("status", -1); status >= 0) findings_.status = status;
        findings_.told_ns = ns(number("told_cost_ticks"));
        for (const auto &[serial, entry] : history_.threads()) {
            findings_.dropped += entry.dropped;
            const auto sum = slow_.threads().find(serial);
            const std::uint64_t written = sum != slow_.threads().end() ? sum->second.calls : 0;
            findings_.calls += std::max(entry.calls, written + entry.dropped);
        }
        const std::uint64_t unattached = history_.end().value("unattached", std::uint64_t{0});
        findings_.calls += unattached;
        findings_.dropped += unattached;
    }

    void tell_sources() {
        const std::uint64_t trouble = history_.end().value("trouble", std::uint64_t{0});
        const bool told = history_.start().value("tells_system_calls", false);
        const bool dispatch = told && (trouble & AUDIT_NO_DISPATCH) == 0;
        const bool events = refused().empty();
        findings_.first_touch = events && findings_.timed;
        for (const CauseKind cause : all_causes) {
            const bool by_dispatch = cause == CauseKind::system_call || cause == CauseKind::lock;
            const bool available = by_dispatch                      ? dispatch
                                   : findings_.timed                ? true
                                   : cause == CauseKind::page_fault ? events
                                                                    : false;
            if (available)
                findings_.available.push_back(cause);
            else if (!by_dispatch)
                findings_.missing.push_back(
                    {cause, cause == CauseKind::page_fault ? refused() : "no call was timed (--causes)"});
        }
        if (!dispatch) {
            const std::string why = told ? "this kernel, a filter or this processor has no Syscall User Dispatch"
                                         : "it was not asked for (--without-system-calls)";
            findings_.missing.push_back({CauseKind::system_call, why});
            findings_.missing.push_back({CauseKind::lock, why});
        }
        const auto note = [&](bool applies, std::string text) {
            if (applies) findings_.notes.push_back(std::move(text));
        };
        note(!findings_.timed, "A time is that of the page faults, system calls and waits for locks within a call.");
        note(!events && findings_.timed,
             fmt::format("Page faults and switches are counted by getrusage around slow calls instead of told one by "
                         "one, and first touch is not told: {}.",
                         refused()));
        note((trouble & AUDIT_PROGRAM_HAS_SIGSYS) != 0,
             "The program handles SIGSYS itself: its handler is called for those signals that are not the audit's.");
        note(
            (trouble & AUDIT_SIGSYS_TAKEN) != 0,
            "The program took SIGSYS by a system call of its own: from there on, system calls and locks are not told.");
        note((trouble & AUDIT_NO_SLOT) != 0,
             fmt::format("More than {} threads were alive at a time: the calls of the others are dropped.",
                         AUDIT_THREADS));
        note(history_.end().value("stacks_shortened", std::uint64_t{0}) > 0,
             fmt::format("There were more different stacks than the table holds: those that came last have their {} "
                         "innermost frames alone.",
                         STACK_SHORT));
        note(history_.end().value("events_lost", std::uint64_t{0}) > 0,
             fmt::format("The kernel dropped {} events: {}.", history_.end().value("events_lost", std::uint64_t{0}),
                         findings_.timed ? "some causes may be told as own work" : "some page faults are not told"));
    }

    Curve curve_of(const Durations &durations) const {
        Curve curve;
        curve.count = durations.count();
        if (curve.count == 0) return curve;
        curve.p50_ns = ns(durations.at(0.5));
        curve.p90_ns = ns(durations.at(0.9));
        curve.p99_ns = ns(durations.at(0.99));
        curve.p999_ns = ns(durations.at(0.999));
        curve.p9999_ns = ns(durations.at(0.9999));
        curve.max_ns = ns(durations.greatest());
        curve.total_ns = ns(durations.total());
        curve.mean_ns = curve.total_ns / static_cast<double>(curve.count);
        durations.visit([&](std::uint64_t value, std::uint64_t below) {
            curve.percent.push_back(100.0 * static_cast<double>(below) / static_cast<double>(curve.count));
            curve.ns.push_back(ns(value));
        });
        return curve;
    }

    void tell_curves() {
        findings_.taking = {curve_of(slow_.all(CallKind::takes)), curve_of(slow_.undisturbed(CallKind::takes))};
        findings_.giving = {curve_of(slow_.all(CallKind::gives)), curve_of(slow_.undisturbed(CallKind::gives))};
        Durations floor;
        const auto empty = history_.start().find("empty_calls_ticks");
        if (empty != history_.start().end() && empty->is_array())
            for (const auto &value : *empty)
                if (value.is_number_unsigned()) floor.add(value.get<std::uint64_t>());
        findings_.floor = curve_of(floor);
    }

    /// A thread that has ended, and then frees what belongs to it, comes a second time.
    void tell_threads() {
        for (const auto &[serial, entry] : history_.threads()) {
            ThreadFinding thread;
            thread.name = std::string(entry.name, strnlen(entry.name, sizeof entry.name));
            thread.program = history_.text(entry.program);
            thread.process = entry.process;
            thread.thread = entry.thread;
            thread.calls = entry.calls;
            thread.dropped = entry.dropped;
            if (const auto sum = slow_.threads().find(serial); sum != slow_.threads().end()) {
                thread.in_calls_ns = ns(sum->second.total);
                thread.slow_ns = ns(sum->second.slow);
            }
            thread_index_[serial] = static_cast<std::uint32_t>(findings_.threads.size());
            findings_.threads.push_back(std::move(thread));
        }
        if (findings_.threads.empty()) findings_.threads.push_back({});
    }

    std::uint32_t thread_of(const SlowSample &sample) const {
        const auto found = thread_index_.find(sample.thread);
        return found == thread_index_.end() ? 0 : found->second;
    }

    std::string thread_text(const SlowSample &sample) const {
        const ThreadFinding &thread = findings_.threads[thread_of(sample)];
        return fmt::format("{} ({})", thread.name, thread.thread);
    }

    void tell_stalls() {
        std::map<Key, Group> groups;
        for (const SlowSample &sample : slow_.samples()) {
            const Stack &stack = texts_.of(sample.stack);
            const symbols::SourceFrame &site = stack[symbols::site_of(stack)];
            groups[{sample.operation, sample.cause, fmt::format("{}\n{}\n{}", site.function, site.file, site.line)}]
                .push_back(&sample);
        }
        std::vector<std::pair<Stall, const Group *>> stalls;
        for (auto &[key, group] : groups)
            stalls.emplace_back(stall_of(std::get<0>(key), std::get<1>(key), group), &group);
        std::sort(stalls.begin(), stalls.end(), [](auto &a, auto &b) { return is_worse(a.first, b.first); });
        for (auto &[stall, group] : stalls) {
            for (const SlowSample *sample : *group)
                stall_index_[sample] = static_cast<std::uint32_t>(findings_.stalls.size());
            findings_.stalls.push_back(std::move(stall));
        }
    }

    Stall stall_of(std::uint32_t operation, const Cause &cause, Group &group) {
        std::sort(group.begin(), group.end(), [](auto *a, auto *b) { return a->duration < b->duration; });
        const auto at = [&](double share) {
            const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(group.size()) - 1e-9));
            return ns(group[std::max<std::size_t>(rank, 1) - 1]->duration);
        };
        Stall stall;
        stall.operation = operation == first_touch_operation ? "first touch" : name_of(operation);
        stall.cause = cause;
        stall.count = group.size();
        stall.p50_ns = at(0.5);
        stall.p999_ns = at(0.999);
        stall.max_ns = at(1);
        for (const SlowSample *sample : group) {
            stall.total_ns += ns(sample->duration);
            stall.largest_bytes = std::max(stall.largest_bytes, sample->bytes);
            stall.page_faults += sample->page_faults;
            stall.system_calls += sample->system_calls;
        }
        const SlowSample &worst = *group.back();
        stall.thread = thread_text(worst);
        stall.at_ns = ns(worst.begin);
        stall.stack = texts_.of(worst.stack);
        stall.site = symbols::site_of(stall.stack);
        return stall;
    }

    void tell_slow_calls() {
        std::vector<const SlowSample *> chosen;
        for (const SlowSample &sample : slow_.samples()) chosen.push_back(&sample);
        findings_.slow_count = chosen.size();
        if (chosen.size() > most_slow_calls) {
            std::nth_element(chosen.begin(), chosen.begin() + most_slow_calls, chosen.end(),
                             [](auto *a, auto *b) { return a->duration > b->duration; });
            chosen.resize(most_slow_calls);
        }
        std::sort(chosen.begin(), chosen.end(), [](auto *a, auto *b) { return a->begin < b->begin; });
        for (const SlowSample *sample : chosen)
            findings_.slow_calls.push_back(
                {ns(sample->begin), ns(sample->duration), thread_of(*sample), stall_index_[sample]});
    }

    void tell_stacks() {
        std::vector<StackSum> sums = slow_.stacks();
        std::sort(sums.begin(), sums.end(), [](auto &a, auto &b) { return a.total > b.total; });
        if (sums.size() > most_stacks) sums.resize(most_stacks);
        for (const StackSum &sum : sums)
            findings_.stacks.push_back(
                {name_of(sum.operation), sum.count, sum.bytes, ns(sum.total), ns(sum.greatest), texts_.of(sum.stack)});
    }

    History &history_;
    Stacks stacks_;
    StackTexts texts_;
    SlowCalls slow_;
    Findings findings_;
    std::map<std::uint32_t, std::uint32_t> thread_index_; // by serial number
    std::map<const SlowSample *, std::uint32_t> stall_index_;
};

} // namespace

Findings analyse(History &history, Stacks stacks) { return Analysis(history, stacks).run(); }

} // namespace flat::audit
