// Fuzz target: a recording of an audit whose frames hold anything, and which is then cut or damaged at any byte. What
// stands whole before that place is read; all readers (the report with its exports, the plan, the replay) take it or
// refuse it with one line.
#include "fuzz/target.hpp"

#include "audit/analysis.hpp"
#include "audit/chrome_trace.hpp"
#include "audit/folded_stacks.hpp"
#include "audit/pprof_profile.hpp"
#include "cli/audit_document.hpp"
#include "cli/plan_recording.hpp"
#include "cli/replay_work.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>
#include <sys/mman.h>
#include <unistd.h>

namespace {

using namespace flat::audit;

constexpr std::uint32_t threads = 4; // serial numbers: few, so that records and entries meet

/// A recording in a file in memory.
class File {
  public:
    File() : file_(memfd_create("recording", MFD_CLOEXEC)), path_("/proc/self/fd/" + std::to_string(file_)) {
        DEMAND(file_ >= 0);
    }
    ~File() { DEMAND(close(file_) == 0); }
    File(const File &) = delete;
    File &operator=(const File &) = delete;

    const std::string &path() const { return path_; }
    void cut(std::uint64_t at) const { DEMAND(ftruncate(file_, static_cast<off_t>(at)) == 0); }
    void damage(std::uint64_t at) const {
        char byte = 0;
        DEMAND(pread(file_, &byte, 1, static_cast<off_t>(at)) == 1);
        byte = static_cast<char>(~byte);
        DEMAND(pwrite(file_, &byte, 1, static_cast<off_t>(at)) == 1);
    }

  private:
    int file_;
    std::string path_;
};

std::string text_of(fuzz::input &from) {
    std::string text(from.take<std::uint8_t>() % 64, ' ');
    for (char &each : text) each = from.take<char>();
    return text;
}

/// What a start or an end says: any text, or an object with the members that are looked for.
std::string object_of(fuzz::input &from) {
    const auto how = from.take<std::uint8_t>();
    if (how % 8 == 0) return text_of(from);
    nlohmann::json object{{"begin_ticks", from.take<std::uint16_t>()}, {"attributes", how % 8 == 1},
                          {"tells_system_calls", how % 8 != 2},        {"told_cost_ticks", from.take<std::uint8_t>()},
                          {"over_ns", from.take<std::uint8_t>()},      {"status", from.take<std::uint8_t>()}};
    if (how % 8 == 3) object["over_ns"] = from.take<double>();
    if (how % 8 == 4) object["events_refused"] = "not here";
    if (how % 8 == 6) object.update({{"begin_ns", from.take<std::uint16_t>()}, {"ticks_per_ns", from.take<double>()}});
    if (how % 8 == 5) object["begin_ticks"] = text_of(from);
    return object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

ThreadEntry thread_of(fuzz::input &from) {
    ThreadEntry entry;
    const auto which = from.take<std::uint8_t>();
    entry.serial = which % threads;
    entry.process = 1 + which / 128;
    entry.thread = 1 + which / 32;
    entry.program = from.take<std::uint8_t>() % 4;
    entry.calls = from.take<std::uint16_t>();
    entry.dropped = from.take<std::uint8_t>();
    for (char &each : entry.name) each = from.take<char>();
    return entry;
}

/// Mostly calls on few blocks, since others say little.
audit_record record_of(fuzz::input &from, std::uint64_t &time) {
    const auto operation = from.take<std::uint8_t>();
    if (operation >= 0xf0)
        return {{from.take<std::uint64_t>(), from.take<std::uint64_t>(), from.take<std::uint64_t>()}};
    time += from.take<std::uint8_t>();
    if (operation >= 0xc0) { // a detail
        const std::uint32_t kind = AUDIT_DURATION + operation % 10;
        const auto value = from.take<std::uint8_t>();
        return audit_record_of_detail(kind, time, value >= 0x80 ? from.take<std::uint64_t>() : value,
                                      from.take<std::uint16_t>());
    }
    return audit_record_of_call(1U + operation % (AUDIT_CALLS_END - 1U), time, from.take<std::uint8_t>(),
                                from.take<std::uint8_t>() % 8, from.take<std::uint16_t>(),
                                0x1000 + 64 * static_cast<std::uint64_t>(from.take<std::uint8_t>() % 16));
}

KernelEvent event_of(fuzz::input &from, std::uint64_t time) {
    KernelEvent event;
    const auto kind = from.take<std::uint8_t>();
    event.kind = static_cast<KernelEventKind>(kind % 10);
    event.time = kind >= 0xf0 ? from.take<std::uint64_t>() : time + from.take<std::uint8_t>();
    event.address = 0x1000 + from.take<std::uint16_t>() % 2048;
    event.process = 1 + kind % 3;
    if (event.kind == KernelEventKind::forked) event.address = 1 + event.address % 3;
    event.thread = 1 + kind / 32 % 8;
    if (kind % 5 == 0) event.within = from.take<std::uint32_t>();
    return event;
}

template <typename Item> void write_one(RecordingWriter &writer, FrameKind kind, const Item &item) {
    writer.write_items<Item>(kind, std::span(&item, 1));
}

void write_clock(RecordingWriter &writer, std::uint64_t ticks, std::uint64_t ns) {
    write_one(writer, FrameKind::clock, ClockPair{ticks, ns});
}

void write_frame(RecordingWriter &writer, fuzz::input &from, std::uint64_t &time) {
    const auto kind = from.take<std::uint8_t>();
    switch (kind % 16) {
    case 0: writer.write_text(FrameKind::start, object_of(from)); break;
    case 1: writer.write_text(FrameKind::end, object_of(from)); break;
    case 2: write_one(writer, FrameKind::thread, thread_of(from)); break;
    case 3: {
        std::vector<std::uint64_t> words{from.take<std::uint8_t>() % 8U, from.take<std::uint8_t>() % 8U};
        for (std::uint64_t i = from.take<std::uint8_t>() % 8; i > 0; i--) words.push_back(from.take<std::uint64_t>());
        writer.write_items<std::uint64_t>(FrameKind::entries, words);
        break;
    }
    case 4: write_one(writer, FrameKind::events, event_of(from, time)); break;
    case 5: write_clock(writer, from.take<std::uint64_t>(), from.take<std::uint64_t>()); break;
    case 6: writer.write_text(static_cast<FrameKind>(kind), text_of(from)); break; // of any kind, with anything in it
    case 7: writer.write(FrameKind::round, {}); break;
    case 15: write_clock(writer, time, time); break;
    default: {
        std::vector<audit_record> records;
        for (int i = from.take<std::uint8_t>() % 32; i > 0; i--) records.push_back(record_of(from, time));
        writer.write_records(kind % threads, records);
    }
    }
}

/// Reads all frames. What was written whole must be there: `ends` has where each frame ended.
void read_frames(const std::string &path, const std::vector<std::uint64_t> &ends, std::uint64_t intact, bool cut) {
    RecordingReader reader(path);
    Frame frame;
    std::size_t count = 0;
    bool ended = false; // behind the frame of the end there is nothing to read
    while (reader.read(frame)) {
        count++;
        ended = ended || frame.kind == FrameKind::end;
    }
    const auto whole = static_cast<std::size_t>(std::ranges::upper_bound(ends, intact) - ends.begin());
    DEMAND(ended || count >= whole);
    if (cut) DEMAND(count <= whole);
}

void require_sound(const flat::cli::RecordedPlan &plan) {
    if (plan.exactness) DEMAND(plan.exactness->holds());
    DEMAND(plan.chosen.allocations > 0);
}

void require_sound(const flat::cli::RecordedWork &made) {
    std::vector<bool> taken(made.work.slots);
    DEMAND(made.work.threads > 0 && made.threads == made.work.threads);
    for (const replay_operation &each : made.work.operations) {
        DEMAND(each.slot < made.work.slots && each.thread < made.work.threads && each.alignment_bits < 64);
        DEMAND(taken[each.slot] == (each.takes == 0));
        taken[each.slot] = each.takes != 0;
    }
    for (const flat::cli::RecordedStall &each : made.stalls) {
        DEMAND(each.operation < made.work.operations.size());
        DEMAND(each.stall < made.findings.stalls.size());
    }
}

/// Whether a reader takes the recording. It refuses one with one line, or, where a figure has another type, with what
/// the program puts into one line itself.
template <typename Read> void read_by(const Read &read) {
    try {
        read();
    } catch (const nlohmann::json::exception &) {
    } catch (const std::runtime_error &refusal) {
        DEMAND(*refusal.what() != 0 && std::strchr(refusal.what(), '\n') == nullptr);
    }
}

void read_by_all(const std::string &path) {
    read_by([&] {
        History history(path);
        const Findings findings = analyse(history, Stacks::all);
        DEMAND(nlohmann::json::accept(flat::cli::audit_document(findings)));
        DEMAND(nlohmann::json::accept(chrome_trace(findings)));
        DEMAND(!pprof_profile(findings).empty());
        (void)folded_stacks(findings);
    });
    read_by([&] { require_sound(flat::cli::plan_recording(path, {})); });
    read_by([&] { require_sound(flat::cli::recorded_work(path, {})); });
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    fuzz::input from(data, size);
    const auto how = from.take<std::uint8_t>();
    const std::uint64_t where = from.take<std::uint16_t>();
    const File file;
    std::vector<std::uint64_t> ends;
    {
        RecordingWriter writer(file.path());
        std::uint64_t time = 1000;
        const std::uint64_t mark = writer.bytes();
        write_clock(writer, 0, 0);
        ends.push_back(writer.bytes());
        while (!from.ended()) {
            const std::uint64_t before = writer.bytes();
            write_frame(writer, from, time);
            if (writer.bytes() != before) ends.push_back(writer.bytes());
        }
        write_clock(writer, time + 1000, time + 1000);
        ends.push_back(writer.bytes());
        DEMAND(mark < ends.front());
    }
    std::uint64_t intact = ends.back();
    const std::uint64_t mark = 8, at = mark + where % (ends.back() - mark);
    if (how % 4 == 1) file.cut(intact = at);
    if (how % 4 == 2) file.damage(intact = at);
    read_frames(file.path(), ends, intact, how % 4 == 1);
    read_by_all(file.path());
    return 0;
}
