#include "history.hpp"

#include "preload/stack_tree.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <functional>
#include <queue>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

namespace flat::audit {
namespace {

#define NAME_OF(name, text, what) text,
constexpr std::array names{"", AUDIT_CALLS(NAME_OF)};
#undef NAME_OF

#define TAKES CallKind::takes
#define GIVES CallKind::gives
#define TRIMS CallKind::trims
#define KIND_IS_RIGHT(name, text, what) static_assert(kind_of(AUDIT_##name) == (what));
AUDIT_CALLS(KIND_IS_RIGHT)
#undef KIND_IS_RIGHT

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

constexpr double least_ticks_per_ns = 1e-3; // of any processor

bool is_call(std::uint32_t operation) { return operation > AUDIT_NONE && operation < AUDIT_CALLS_END; }

} // namespace

const char *name_of(std::uint32_t operation) { return is_call(operation) ? names[operation] : ""; }

Call call_of(std::uint32_t thread, const audit_record &record) {
    Call call;
    call.operation = audit_operation_of(&record);
    call.thread = thread;
    call.stack = audit_stack_of(&record);
    call.begin = audit_time_of(&record);
    call.duration = audit_duration_of(&record);
    call.size = audit_size_of(&record);
    call.block = audit_block_of(&record);
    return call;
}

void HistoryVisitor::on_calls(std::uint32_t thread, std::span<const audit_record> records) {
    for (const audit_record &record : records) on_call(call_of(thread, record));
}

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
    if (clocks.size() < 2 && start_.contains("begin_ns")) {
        first_clock_ = {begin_ticks_, start_.value("begin_ns", std::uint64_t{0})};
        ticks_per_ns_ = std::max(start_.value("ticks_per_ns", 1.0), least_ticks_per_ns);
        return;
    }
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
    constexpr double most = 1.8e19; // 64 bits hold it: a damaged clock may say anything
    return since > 0 ? static_cast<std::uint64_t>(std::min(since, most)) : 0;
}

void History::read_entries(std::span<const std::byte> payload) {
    const std::vector<std::uint64_t> words = items_in<std::uint64_t>(payload);
    for (std::size_t i = 0; i + 2 <= words.size() && words[i + 1] <= words.size() - i - 2; i += 2 + words[i + 1]) {
        const auto first = words.begin() + static_cast<std::ptrdiff_t>(i + 2);
        entries_[static_cast<std::uint32_t>(words[i])].assign(first, first + static_cast<std::ptrdiff_t>(words[i + 1]));
    }
}

void History::require_calls() const {
    if (start_.value("attributes", false))
        throw std::runtime_error("the recording was made with --causes, which keeps no calls: record it without");
}

std::string History::text(std::uint32_t entry) const {
    const auto found = entries_.find(entry);
    if (found == entries_.end()) return "";
    const auto *bytes = reinterpret_cast<const char *>(found->second.data());
    const std::string_view all(bytes, found->second.size() * sizeof(std::uint64_t));
    return std::string(all.substr(0, all.find('\0')));
}

/// Of an entry of one word; else 0.
std::uint64_t History::word_of(std::uint32_t entry) const {
    const auto found = entries_.find(entry);
    return found != entries_.end() && found->second.size() == 1 ? found->second[0] : 0;
}

std::vector<std::uint64_t> History::frames(std::uint32_t stack) const {
    std::vector<std::uint64_t> found;
    for (std::uint64_t word = 0; found.size() < UNWIND_DEPTH && (word = word_of(stack)) != 0;) {
        found.push_back(word_of(stack_frame(word)));
        stack = stack_callers(word);
    }
    return found;
}

/// The records of one thread that have not been told yet.
class ThreadHistory {
  public:
    ThreadHistory(const History &history, std::uint32_t serial) : history_(history) { call_.thread = serial; }

    void add(std::vector<audit_record> records) {
        if (records.empty()) return;
        blocks_.push_back(std::move(records));
        if (!is_ready_) advance();
    }

    bool is_ready() const { return is_ready_; } // there is a call or a phase
    bool is_idle() const {                      // nothing is left of what was added
        return !is_ready_ && rest_.empty() && blocks_.empty() && !has_details_;
    }
    std::uint64_t time() const { return time_; }

    /// Tells the next one, and with it those behind it that end up to `until`, as far as they are calls without
    /// details.
    void tell(HistoryVisitor &visitor, std::uint64_t until) {
        if (is_phase_)
            visitor.on_phase(call_.thread, time_, phase_);
        else
            visitor.on_call(call_);
        forget();
        tell_plain_calls(visitor, until);
        advance();
    }

  private:
    /// To the next call or phase, with the details before it. What has been read of one whose record is still to come
    /// stays.
    void advance() {
        is_ready_ = false;
        while (!is_ready_ && (!rest_.empty() || begin_block())) {
            const audit_record &record = rest_.front();
            rest_ = rest_.subspan(1);
            take(record);
        }
    }

    void tell_plain_calls(HistoryVisitor &visitor, std::uint64_t until) {
        const auto end = std::ranges::find_if(rest_, [until](const audit_record &record) {
            return !is_call(audit_operation_of(&record)) || audit_time_of(&record) + audit_duration_of(&record) > until;
        });
        const auto count = static_cast<std::size_t>(end - rest_.begin());
        if (count > 0) visitor.on_calls(call_.thread, rest_.first(count));
        rest_ = rest_.subspan(count);
    }

    bool begin_block() {
        if (blocks_.empty()) return false;
        block_ = std::move(blocks_.front());
        blocks_.pop_front();
        rest_ = block_;
        return true;
    }

    void forget() {
        is_phase_ = false;
        if (!has_details_) return;
        call_.old_block = call_.alignment = duration_ = size_ = 0;
        details_.clear();
        call_.details = {};
        has_details_ = false;
    }

    void take(const audit_record &record) {
        const std::uint32_t operation = audit_operation_of(&record);
        if (is_call(operation)) {
            take_call(operation, record);
            return;
        }
        switch (operation) {
        case AUDIT_DURATION: detail_of_call(record, duration_); break;
        case AUDIT_SIZE: detail_of_call(record, size_); break;
        case AUDIT_OLD_BLOCK: detail_of_call(record, call_.old_block); break;
        case AUDIT_ALIGNMENT: detail_of_call(record, call_.alignment); break;
        case AUDIT_PHASE:
            phase_ = history_.text(static_cast<std::uint32_t>(record.words[1]));
            time_ = audit_time_of(&record);
            is_ready_ = is_phase_ = true;
            break;
        default:
            details_.push_back(record);
            has_details_ = true;
            break;
        }
    }

    /// Of the call that began at the record's time. A call whose own record was dropped may have left others.
    void detail_of_call(const audit_record &record, std::uint64_t &value) {
        if (audit_time_of(&record) != detail_begin_) forget_details(audit_time_of(&record));
        value = record.words[1];
        has_details_ = true;
    }

    void forget_details(std::uint64_t begin) {
        call_.old_block = call_.alignment = duration_ = size_ = 0;
        detail_begin_ = begin;
    }

    void take_call(std::uint32_t operation, const audit_record &record) {
        const std::uint64_t begin = audit_time_of(&record);
        if (has_details_) keep_details(begin);
        call_.operation = operation;
        call_.stack = audit_stack_of(&record);
        call_.begin = begin;
        call_.duration = duration_ != 0 ? duration_ : audit_duration_of(&record);
        call_.size = size_ != 0 ? size_ : audit_size_of(&record);
        call_.block = audit_block_of(&record);
        time_ = call_.end();
        is_ready_ = true;
    }

    /// Those of the call that begins now.
    void keep_details(std::uint64_t begin) {
        if (detail_begin_ != begin) forget_details(begin);
        std::erase_if(details_, [&](const audit_record &detail) { return audit_time_of(&detail) < begin; });
        call_.details = details_;
    }

    const History &history_;
    std::vector<audit_record> block_;
    std::span<const audit_record> rest_;           // of the block
    std::deque<std::vector<audit_record>> blocks_; // after it
    bool is_ready_ = false, is_phase_ = false;
    std::uint64_t time_ = 0, duration_ = 0, size_ = 0;
    std::uint64_t detail_begin_ = 0; // of the call whose details are known
    Call call_;
    std::string phase_;
    std::vector<audit_record> details_;
    bool has_details_ = false; // of whatever kind
};

/// All threads and the kernel's events, in the order of time.
class MergedHistory {
  public:
    MergedHistory(const History &history, HistoryVisitor &visitor) : history_(history), visitor_(visitor) {}

    void add_records(std::uint32_t serial, std::vector<audit_record> records) {
        threads_.try_emplace(serial, history_, serial).first->second.add(std::move(records));
    }

    void add_events(std::vector<KernelEvent> events) {
        events_.erase(events_.begin(), events_.begin() + static_cast<std::ptrdiff_t>(told_events_));
        told_events_ = 0;
        for (KernelEvent &event : events) {
            event.time = history_.ticks_of(event.time);
            events_.push_back({event, next_event_++});
        }
        std::sort(events_.begin(), events_.end(), [](auto &a, auto &b) {
            return a.event.time != b.event.time ? a.event.time < b.event.time : a.order < b.order;
        });
    }

    /// All that happened up to `horizon`: what has been added is whole up to there.
    void tell(std::uint64_t horizon) {
        std::priority_queue<Waiting, std::vector<Waiting>, std::greater<>> waiting;
        for (auto &[serial, thread] : threads_)
            if (thread.is_ready()) waiting.emplace(thread.time(), &thread);
        while (!waiting.empty() && waiting.top().first <= horizon) {
            ThreadHistory &thread = *waiting.top().second;
            waiting.pop();
            const std::uint64_t others = waiting.empty() ? horizon : std::min(horizon, waiting.top().first);
            while (thread.is_ready() && thread.time() <= others) {
                tell_events(thread.time());
                thread.tell(visitor_, std::min(others, before_next_event()));
            }
            if (thread.is_ready()) waiting.emplace(thread.time(), &thread);
        }
        tell_events(horizon);
        std::erase_if(threads_, [](const auto &thread) { return thread.second.is_idle(); });
    }

  private:
    using Waiting = std::pair<std::uint64_t, ThreadHistory *>;
    struct Ordered {
        KernelEvent event;
        std::uint64_t order; // of those at the same time
    };

    void tell_events(std::uint64_t until) {
        while (told_events_ < events_.size() && events_[told_events_].event.time <= until)
            visitor_.on_event(events_[told_events_++].event);
    }

    /// The last moment before the next event, of which all up to now have been told.
    std::uint64_t before_next_event() const {
        return told_events_ < events_.size() ? events_[told_events_].event.time - 1 : UINT64_MAX;
    }

    const History &history_;
    HistoryVisitor &visitor_;
    std::map<std::uint32_t, ThreadHistory> threads_; // by serial number
    std::vector<Ordered> events_;
    std::size_t told_events_ = 0;
    std::uint64_t next_event_ = 0;
};

void History::for_each_event(const std::function<void(const KernelEvent &)> &tell) {
    reader_.rewind();
    Frame frame;
    while (reader_.read(frame, false)) {
        if (frame.kind != FrameKind::events) continue;
        for (const KernelEvent &event : items_in<KernelEvent>(frame.payload)) tell(event);
    }
}

void History::visit(HistoryVisitor &visitor) {
    reader_.rewind();
    MergedHistory merged(*this, visitor);
    std::uint64_t horizon = 0;
    Frame frame;
    while (reader_.read(frame)) {
        if (frame.kind == FrameKind::records) {
            merged.add_records(frame.serial, std::move(frame.records));
        } else if (frame.kind == FrameKind::events) {
            merged.add_events(items_in<KernelEvent>(frame.payload));
        } else if (frame.kind == FrameKind::clock) {
            for (const ClockPair &pair : items_in<ClockPair>(frame.payload)) horizon = pair.ticks - begin_ticks_;
        } else if (frame.kind == FrameKind::round) {
            merged.tell(horizon);
        }
    }
    merged.tell(UINT64_MAX);
    whole_ = reader_.is_whole(); // damage among the records is seen here alone
}

} // namespace flat::audit
