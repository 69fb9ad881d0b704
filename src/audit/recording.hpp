// The file of an audit: what the programs wrote, what the kernel said meanwhile, and what is needed to read it without
// them. It is a sequence of frames, each compressed and checked by itself, so that a file that was cut anywhere can be
// read up to there.
#pragma once

#include "record.h"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flat::audit {

/// A thread of a program. `serial` is its number in the recording: the system's own are used again.
struct ThreadEntry {
    std::uint32_t serial = 0, program = 0; // the interned path of its program
    std::int32_t process = 0, thread = 0;
    std::uint64_t calls = 0, dropped = 0; // so far
    char name[16] = {};
};

enum class KernelEventKind : std::uint32_t {
    fault_begins = 1, // at `address`, by the instruction at `instruction`
    minor_fault_ends,
    major_fault_ends,
    preempted, // the thread is taken from its processor, and would run on
    blocked,   // the thread waits for something
    runs_on,
    forked,   // `process` is a new one, which has the memory of the process `address`
    executed, // the process has a new program, and nothing of its memory before
};

/// Times are in ns of CLOCK_MONOTONIC_RAW.
struct KernelEvent {
    std::uint64_t time = 0, address = 0, instruction = 0;
    std::int32_t process = 0, thread = 0;
    KernelEventKind kind = KernelEventKind::fault_begins;
    std::uint32_t within = 0; // of a fault within a call that is only attributed: operation and stack, as in session.h
};

/// Both clocks at one moment.
struct ClockPair {
    std::uint64_t ticks = 0, ns = 0;
};

/// What a frame holds. Entries are those of src/preload/interned.h.
enum class FrameKind : std::uint32_t {
    start = 1, // JSON: what was asked for, on which machine
    entries,   // of interned entries: the number, the count, and that many words
    thread,    // a ThreadEntry, again with each change
    records,   // a serial number in a word of 64 bits, and a thread's records, in their order
    events,    // KernelEvents, those of each processor in their order
    clock,     // ClockPairs: of a round, when it began
    round,     // empty: all that happened before this round began has been written
    end,       // JSON: how it ended
};

/// Appends frames to a file. All throw std::system_error iff the file cannot be written.
class RecordingWriter {
  public:
    explicit RecordingWriter(const std::filesystem::path &file);
    ~RecordingWriter();
    RecordingWriter(const RecordingWriter &) = delete;
    RecordingWriter &operator=(const RecordingWriter &) = delete;

    void write(FrameKind kind, std::span<const std::byte> payload);
    void write_text(FrameKind kind, std::string_view text);
    void write_records(std::uint32_t serial, std::span<const audit_record> records);
    template <typename Item> void write_items(FrameKind kind, std::span<const Item> items) {
        write(kind, std::as_bytes(items));
    }
    std::uint64_t bytes() const { return bytes_; }

  private:
    struct Packer;
    std::vector<std::byte> &begin_frame();
    void end_frame(FrameKind kind);

    std::FILE *file_;
    std::unique_ptr<Packer> packer_;
    std::uint64_t bytes_ = 0;
};

/// Before each frame in the file. What it says stands in the compressed payload once more, under that one's checksum.
struct FrameHead {
    std::uint32_t kind, packed, raw; // the sizes are in bytes
};

struct Frame {
    FrameKind kind;
    std::vector<std::byte> payload;    // of all kinds but `records`
    std::vector<audit_record> records; // of `records` alone
    std::uint32_t serial = 0;          // the thread whose they are
};

/// Whether a file that can be read begins as a recording does.
bool is_recording(const std::filesystem::path &file);

/// Reads the frames of a recording in their order. Throws std::runtime_error, which says what to do, iff the file
/// cannot be read or is no recording.
class RecordingReader {
  public:
    explicit RecordingReader(const std::filesystem::path &file);
    ~RecordingReader();
    RecordingReader(const RecordingReader &) = delete;
    RecordingReader &operator=(const RecordingReader &) = delete;

    /// False at the end, or where the file was cut or is damaged, which `is_whole` tells apart.
    /// Without `with_records`, frames of records are skipped.
    bool read(Frame &frame, bool with_records = true);
    /// From the first frame again.
    void rewind();
    /// Whether the last frame that was read is the end's.
    bool is_whole() const { return whole_; }

  private:
    struct Unpacker;
    bool unpack(const FrameHead &head, Frame &frame);

    std::FILE *file_;
    std::unique_ptr<Unpacker> unpacker_;
    bool whole_ = false;
};

} // namespace flat::audit
