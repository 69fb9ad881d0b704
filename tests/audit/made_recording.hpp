// Recordings that tests write themselves, whose clock has one tick a nanosecond.
#pragma once

#include "audit/recording.hpp"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "scratch_folder.hpp"

namespace flat::audit {

inline constexpr std::uint64_t made_begin = 1000000; // of the session, in ticks and in ns of the clock

/// A call as programs write it, without details.
struct MadeCall {
    std::uint64_t begin = 0, duration = 0, size = 0, block = 0;
    std::uint32_t operation = AUDIT_MALLOC, stack = 0;

    audit_record record() const { return audit_record_of_call(operation, begin, duration, stack, size, block); }
};

/// Times are in ticks since the session began.
inline KernelEvent made_event(KernelEventKind kind, std::uint64_t time, std::int32_t thread, std::uint64_t address = 0,
                              std::int32_t process = 1) {
    KernelEvent event;
    event.time = made_begin + time;
    event.address = address;
    event.process = process;
    event.thread = thread;
    event.kind = kind;
    return event;
}

class MadeRecording {
  public:
    MadeRecording() : file_(folder_.path() / "recording"), writer_(file_) {
        writer_.write_text(FrameKind::start, nlohmann::json{{"begin_ticks", made_begin}}.dump());
        clock(0);
    }

    void thread(std::uint32_t serial, std::int32_t thread, std::int32_t process = 1) {
        ThreadEntry entry;
        entry.serial = serial;
        entry.thread = thread;
        entry.process = process;
        writer_.write_items<ThreadEntry>(FrameKind::thread, std::span(&entry, 1));
    }
    void records(std::uint32_t serial, const std::vector<audit_record> &records) {
        writer_.write_records(serial, records);
    }
    void events(const std::vector<KernelEvent> &events) { writer_.write_items<KernelEvent>(FrameKind::events, events); }
    void entry(std::uint32_t number, const std::vector<std::uint64_t> &words) {
        std::vector<std::uint64_t> payload{number, words.size()};
        payload.insert(payload.end(), words.begin(), words.end());
        writer_.write_items<std::uint64_t>(FrameKind::entries, payload);
    }
    /// A stack of these frames, innermost first. Its number and those of what it consists of are `number` and the next
    /// ones, two for each frame.
    void stack(std::uint32_t number, const std::vector<std::uint64_t> &frames) {
        for (std::size_t i = 0; i < frames.size(); i++, number += 2) {
            const std::uint64_t callers = i + 1 < frames.size() ? number + 2 : 0;
            entry(number, {callers << 32 | (number + 1)});
            entry(number + 1, {frames[i]});
        }
    }
    void clock(std::uint64_t time) {
        const ClockPair pair{made_begin + time, made_begin + time};
        writer_.write_items<ClockPair>(FrameKind::clock, std::span(&pair, 1));
    }
    /// Ends what was taken out at a time, at `time`.
    void round(std::uint64_t time) {
        clock(time);
        writer_.write(FrameKind::round, {});
    }
    void end() { writer_.write_text(FrameKind::end, "{}"); }

    RecordingWriter &writer() { return writer_; }
    const std::filesystem::path &file() const { return file_; }
    std::filesystem::path beside(const char *name) const { return folder_ / name; }

  private:
    test::scratch_folder folder_; // one a process: a test has one recording at a time
    std::filesystem::path file_;
    RecordingWriter writer_;
};

} // namespace flat::audit
