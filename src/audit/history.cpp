#include "history.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <stdexcept>

#include <fmt/format.h>

namespace flat::audit {
namespace {

#define KIND_OF(name, text, what) what,
#define NAME_OF(name, text, what) text,
enum Kind { NONE, TAKES, GIVES, TRIMS };
constexpr std::array kinds{NONE, AUDIT_CALLS(KIND_OF)};
constexpr std::array names{"", AUDIT_CALLS(NAME_OF)};
#undef KIND_OF
#undef NAME_OF

template <typename Item> std::vector<Item> items_in(std::span<const std::byte> payload) {
    std::vector<Item> items(payload.size() / sizeof(Item));
    if (!items.empty()) std::memcpy(items.data(), payload.data(), items.size() * sizeof(Item));
    return items;
}

nlohmann::json object_in(std::span<const std::byte> payload) {
    const auto *text = reinterpret_cast<const char *>(payload.data());
    nlohmann::json found = nlohmann::json::parse(text, text + payload.size(), nullptr, false);
    return found.is_object() ? found : nlohmann::json::object();
}

bool is_call(std::uint32_t operation) { return operation > AUDIT_NONE && operation < AUDIT_CALLS_END; }

} // namespace

CallKind kind_of(std::uint32_t operation) {
    if (!is_call(operation)) return CallKind::trims;
    return kinds[operation] == TAKES ? CallKind::takes : kinds[operation] == GIVES ? CallKind::gives : CallKind::trims;
}

const char *name_of(std::uint32_t operation) { return is_call(operation) ? names[operation] : ""; }

History::History(const std::filesystem::path &file) : reader_(file) {
    Frame frame;
    std::vector<ClockPair> clocks;
    while (reader_.read(frame, false)) {
        switch (frame.kind) {
        case FrameKind::start: start_.update(object_in(frame.payload)); break; // what was known later is in later ones
        case FrameKind::end: end_ = object_in(frame.payload); break;
        case FrameKind::entries: read_entries(frame.payload); break;
        case FrameKind::thread:
            for (const ThreadEntry &entry : items_in<ThreadEntry>(frame.payload)) threads_[entry.serial] = entry;
            break;
        case FrameKind::clock:
            for (const ClockPair &pair : items_in<ClockPair>(frame.payload)) clocks.push_back(pair);
            break;
        default: break;
        }
    }
    whole_ = reader_.is_whole();
    begin_ticks_ = start_.value("begin_ticks", std::uint64_t{0});
    if (clocks.size() < 2)
        throw std::runtime_error(
            fmt::format("{}: the recording was cut before anything was in it: record it again", file.string()));
    set_clock(clocks.front(), clocks.back());
}

void History::set_clock(const ClockPair &first, const ClockPair &last) {
    first_clock_ = first;
    if (last.ns > first.ns && last.ticks > first.ticks)
        ticks_per_ns_ = static_cast<double>(last.ticks - first.ticks) / static_cast<double>(last.ns - first.ns);
    last_tick_ = last.ticks > begin_ticks_ ? last.ticks - begin_ticks_ : 0;
}

std::uint64_t History::ticks_of(std::uint64_t ns) const {
    const double since = static_cast<double>(static_cast<std::int64_t>(ns - first_clock_.ns)) * ticks_per_ns_ +
                         static_cast<double>(static_cast<std::int64_t>(first_clock_.ticks - begin_ticks_));
    return since > 0 ? static_cast<std::uint64_t>(since) : 0;
}

void History::read_entries(std::span<const std::byte> payload) {
    const std::vector<std::uint64_t> words = items_in<std::uint64_t>(payload);
    for (std::size_t i = 0; i + 2 <= words.size() && words[i + 1] <= words.size() - i - 2; i += 2 + words[i + 1]) {
        const auto first = words.begin() + static_cast<std::ptrdiff_t>(i + 2);
        entries_[static_cast<std::uint32_t>(words[i])].assign(first, first + static_cast<std::ptrdiff_t>(words[i + 1]));
    }
}

std::string History::text(std::uint32_t entry) const {
    const auto found = entries_.find(entry);
    if (found == entries_.end()) return "";
    const auto *bytes = reinterpret_cast<const char *>(found->second.data());
    const std::string_view all(bytes, found->second.size() * sizeof(std::uint64_t));
    return std::string(all.substr(0, all.find('\0')));
}

std::span<const std::uint64_t> History::frames(std::uint32_t stack) const {
    const auto found = entries_.find(stack);
    return found == entries_.end() ? std::span<const std::uint64_t>() : std::span(found->second);
}

/// What was taken out at a time, put into its order.
class RoundOfHistory {
  public:
    RoundOfHistory(const History &history, HistoryVisitor &visitor) : history_(history), visitor_(visitor) {}

    void add_records(std::uint32_t serial, std::span<const audit_record> records) {
        Pending &pending = pending_[serial];
        const std::size_t first = items_.size();
        for (const audit_record &record : records) add(serial, pending, record);
        runs_.emplace_back(first, items_.size());
    }

    void add_events(std::vector<KernelEvent> events) {
        for (KernelEvent &event : events) event.time = history_.ticks_of(event.time);
        std::stable_sort(events.begin(), events.end(), [](auto &a, auto &b) { return a.time < b.time; });
        const std::size_t first = items_.size();
        for (const KernelEvent &event : events) {
            items_.push_back({event.time, Item::event, events_.size()});
            events_.push_back(event);
        }
        runs_.emplace_back(first, items_.size());
    }

    /// What happened up to `until`. The rest waits for what belongs before it.
    void tell(std::uint64_t until) {
        order();
        const auto later = std::upper_bound(items_.begin(), items_.end(), until,
                                            [](std::uint64_t time, const Item &item) { return time < item.time; });
        for (auto item = items_.begin(); item != later; ++item) {
            if (item->what == Item::call)
                visitor_.on_call(calls_[item->index]);
            else if (item->what == Item::event)
                visitor_.on_event(events_[item->index]);
            else
                visitor_.on_phase(phases_[item->index].first, item->time, phases_[item->index].second);
        }
        keep({later, items_.end()});
    }

  private:
    struct Item {
        std::uint64_t time;
        enum { call, event, phase } what;
        std::size_t index;
    };
    /// Details of a thread whose call has not been read yet. It never is where the call's own record was dropped.
    struct Pending {
        std::uint64_t begin = 0; // of the call to which the next four belong
        std::uint64_t duration = 0, size = 0, old_block = 0, alignment = 0;
        std::vector<audit_record> told;
    };

    /// These alone, which are in order.
    void keep(const std::vector<Item> &items) {
        std::vector<Call> calls;
        std::vector<KernelEvent> events;
        std::vector<std::pair<std::uint32_t, std::string>> phases;
        std::deque<std::vector<audit_record>> details;
        items_.clear();
        for (const Item &item : items) {
            if (item.what == Item::call) {
                items_.push_back({item.time, item.what, calls.size()});
                calls.push_back(calls_[item.index]);
                if (!calls.back().details.empty()) {
                    details.emplace_back(calls.back().details.begin(), calls.back().details.end());
                    calls.back().details = details.back();
                }
            } else if (item.what == Item::event) {
                items_.push_back({item.time, item.what, events.size()});
                events.push_back(events_[item.index]);
            } else {
                items_.push_back({item.time, item.what, phases.size()});
                phases.push_back(phases_[item.index]);
            }
        }
        runs_.assign(1, {0, items_.size()});
        calls_.assign(calls.begin(), calls.end()); // which stay as large as they were: the next round needs that too
        events_.assign(events.begin(), events.end());
        phases_.assign(phases.begin(), phases.end());
        details_ = std::move(details);
    }

    void add(std::uint32_t serial, Pending &pending, const audit_record &record) {
        const std::uint32_t operation = audit_operation_of(&record);
        if (is_call(operation)) {
            forget_others(pending, audit_time_of(&record));
            add_call(serial, pending, record);
            return;
        }
        switch (operation) {
        case AUDIT_DURATION: of_call(pending, record).duration = record.words[1]; break;
        case AUDIT_SIZE: of_call(pending, record).size = record.words[1]; break;
        case AUDIT_OLD_BLOCK: of_call(pending, record).old_block = record.words[1]; break;
        case AUDIT_ALIGNMENT: of_call(pending, record).alignment = record.words[1]; break;
        case AUDIT_PHASE:
            items_.push_back({audit_time_of(&record), Item::phase, phases_.size()});
            phases_.emplace_back(serial, history_.text(static_cast<std::uint32_t>(record.words[1])));
            break;
        default: pending.told.push_back(record); break;
        }
    }

    /// The details of the call that this one belongs to, whose beginning is its time.
    static Pending &of_call(Pending &pending, const audit_record &detail) {
        if (pending.begin != audit_time_of(&detail)) {
            pending.begin = audit_time_of(&detail);
            pending.duration = pending.size = pending.old_block = pending.alignment = 0;
        }
        return pending;
    }

    /// Details of calls before the one that began at `begin`.
    static void forget_others(Pending &pending, std::uint64_t begin) {
        if (pending.begin != begin) pending.duration = pending.size = pending.old_block = pending.alignment = 0;
        std::erase_if(pending.told, [&](const audit_record &detail) { return audit_time_of(&detail) < begin; });
    }

    void add_call(std::uint32_t serial, Pending &pending, const audit_record &record) {
        Call call;
        call.operation = audit_operation_of(&record);
        call.thread = serial;
        call.stack = audit_stack_of(&record);
        call.begin = audit_time_of(&record);
        call.duration = pending.duration != 0 ? pending.duration : audit_duration_of(&record);
        call.size = pending.size != 0 ? pending.size : audit_size_of(&record);
        call.block = audit_block_of(&record);
        call.old_block = pending.old_block;
        call.alignment = pending.alignment;
        if (!pending.told.empty()) {
            details_.push_back(std::move(pending.told));
            call.details = details_.back();
        }
        pending.duration = pending.size = pending.old_block = pending.alignment = 0;
        pending.told.clear();
        items_.push_back({call.end(), Item::call, calls_.size()});
        calls_.push_back(call);
    }

    /// Each run is in order by itself; they are merged in pairs, neighbours first, so that of equal times the thread
    /// that was read first comes first.
    void order() {
        const auto before = [](const Item &a, const Item &b) { return a.time < b.time; };
        const auto at = [&](std::size_t i) { return items_.begin() + static_cast<std::ptrdiff_t>(i); };
        for (const auto &[first, last] : runs_) // a thread's time may step back where processors' clocks differ
            if (!std::is_sorted(at(first), at(last), before)) std::stable_sort(at(first), at(last), before);
        while (runs_.size() > 1) {
            std::vector<std::pair<std::size_t, std::size_t>> merged;
            for (std::size_t i = 0; i < runs_.size(); i += 2) {
                if (i + 1 == runs_.size()) {
                    merged.push_back(runs_[i]);
                    break;
                }
                std::inplace_merge(at(runs_[i].first), at(runs_[i + 1].first), at(runs_[i + 1].second), before);
                merged.emplace_back(runs_[i].first, runs_[i + 1].second);
            }
            runs_ = std::move(merged);
        }
    }

    const History &history_;
    HistoryVisitor &visitor_;
    std::vector<Item> items_;
    std::vector<std::pair<std::size_t, std::size_t>> runs_;
    std::vector<Call> calls_;
    std::vector<KernelEvent> events_;
    std::vector<std::pair<std::uint32_t, std::string>> phases_;
    std::deque<std::vector<audit_record>> details_;
    std::unordered_map<std::uint32_t, Pending> pending_;
};

void History::visit(HistoryVisitor &visitor) {
    reader_.rewind();
    RoundOfHistory round(*this, visitor);
    Frame frame;
    /* When the last round had been taken out: all until then is in the recording by the end of the next one. What came
     * later may belong between what that brings, as events of a call that was taken out before them. */
    std::uint64_t taken_at = 0, complete_until = 0;
    while (reader_.read(frame)) {
        if (frame.kind == FrameKind::records && frame.payload.size() >= sizeof(std::uint64_t)) {
            std::uint64_t serial = 0;
            std::memcpy(&serial, frame.payload.data(), sizeof serial);
            round.add_records(static_cast<std::uint32_t>(serial),
                              items_in<audit_record>(std::span(frame.payload).subspan(sizeof serial)));
        } else if (frame.kind == FrameKind::events) {
            round.add_events(items_in<KernelEvent>(frame.payload));
        } else if (frame.kind == FrameKind::round) {
            round.tell(complete_until);
            complete_until = taken_at;
        } else if (frame.kind == FrameKind::clock) {
            for (const ClockPair &pair : items_in<ClockPair>(frame.payload))
                taken_at = pair.ticks > begin_ticks_ ? pair.ticks - begin_ticks_ : 0;
        }
    }
    round.tell(UINT64_MAX);
}

} // namespace flat::audit
