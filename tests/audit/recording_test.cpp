// The file of an audit: what was written is read again, up to wherever it was cut, and damage is never taken for
// content.
#include "audit/recording.hpp"

#include "audit/columns.hpp"

#include "made_recording.hpp"

#include <cstring>
#include <fstream>
#include <random>
#include <sstream>
#include <stdexcept>

#include <gtest/gtest.h>

namespace flat::audit {
namespace {

namespace fs = std::filesystem;

struct Read {
    FrameKind kind;
    std::vector<std::byte> payload;
    std::vector<std::byte> records;
    std::uint32_t serial;
    bool operator==(const Read &) const = default;
};

std::vector<Read> frames_in(const fs::path &file, bool with_records = true) {
    RecordingReader reader(file);
    std::vector<Read> all;
    for (Frame frame; reader.read(frame, with_records);) {
        const auto bytes = std::as_bytes(std::span(frame.records));
        all.push_back({frame.kind, frame.payload, {bytes.begin(), bytes.end()}, frame.serial});
    }
    return all;
}

std::string bytes_of(const fs::path &file) {
    std::ostringstream all;
    all << std::ifstream(file, std::ios::binary).rdbuf();
    return all.str();
}

void write_bytes(const fs::path &file, std::string_view bytes) {
    std::ofstream(file, std::ios::binary | std::ios::trunc)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

std::vector<audit_record> random_records(std::mt19937_64 &chance, std::size_t count) {
    std::vector<audit_record> records;
    std::uint64_t time = chance() % 1000;
    for (std::size_t i = 0; i < count; i++) {
        time += chance() % 5 == 0 ? chance() % (std::uint64_t{1} << 40) : chance() % 100;
        if (i % 7 == 6) time -= std::min(time, chance() % 50); // as where processors' clocks differ
        records.push_back(chance() % 8 == 0 ? audit_record_of_detail(AUDIT_SIZE, time, chance(), chance())
                                            : audit_record_of_call(AUDIT_FREE, time, chance(), chance() & 0xfffff,
                                                                   chance() % 5000, chance() & 0xfffffffffff8));
    }
    return records;
}

void fill(MadeRecording &made) {
    std::mt19937_64 chance(1);
    made.thread(1, 11);
    for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{5}, std::size_t{40}})
        made.records(1, random_records(chance, count));
    made.events({made_event(KernelEventKind::preempted, 5, 11), made_event(KernelEventKind::runs_on, 7, 11)});
    made.round(100);
    made.end();
}

TEST(recording, gives_records_back_as_they_were) {
    std::mt19937_64 chance(2);
    MadeRecording made;
    std::vector<std::vector<audit_record>> written;
    for (std::size_t count = 0; count < 300; count += 1 + count / 3) {
        written.push_back(random_records(chance, count));
        made.records(static_cast<std::uint32_t>(count), written.back());
    }
    std::size_t next = 0;
    for (const Read &frame : frames_in(made.file())) {
        if (frame.kind != FrameKind::records) continue;
        ASSERT_EQ(frame.serial, written[next].size());
        ASSERT_EQ(frame.records.size(), written[next].size() * sizeof(audit_record));
        if (!written[next].empty()) {
            EXPECT_EQ(
                std::memcmp(frame.records.data(), written[next].data(), written[next].size() * sizeof(audit_record)),
                0);
        }
        next++;
    }
    EXPECT_EQ(next, written.size());
}

/// Bytes that are the same in all records but the last few, which stand for themselves.
TEST(recording, gives_records_back_that_are_alike) {
    for (std::size_t differs = 0; differs <= sizeof(audit_record); differs++)
        for (const std::size_t count : {8U, 9U, 16U, 23U}) {
            MadeRecording made;
            std::vector<audit_record> written(count, audit_record_of_call(AUDIT_MALLOC, 100, 7, 3, 4096, 0x1000));
            if (differs > 0) reinterpret_cast<std::uint8_t *>(&written[count / 2])[differs - 1] ^= 0x81;
            made.records(1, written);
            const std::vector<Read> frames = frames_in(made.file());
            ASSERT_EQ(frames.back().records.size(), count * sizeof(audit_record));
            EXPECT_EQ(std::memcmp(frames.back().records.data(), written.data(), frames.back().records.size()), 0)
                << differs << " " << count;
        }
}

TEST(recording, has_no_records_in_what_is_no_columns) {
    std::vector<std::byte> columns;
    append_columns(columns, std::vector<audit_record>(20, audit_record_of_call(AUDIT_FREE, 5, 1, 2, 0, 0x1000)));
    EXPECT_EQ(from_columns(columns).size(), 20U);
    for (std::size_t size = 0; size < columns.size(); size++)
        EXPECT_TRUE(from_columns(std::span(columns).first(size)).empty()) << size;
    columns.push_back(std::byte{0});
    EXPECT_TRUE(from_columns(columns).empty()) << "a byte too many";
    columns.pop_back();
    for (std::size_t at = 0; at < 2 * sizeof(std::uint32_t); at++) {
        std::vector<std::byte> damaged = columns; // the count, and which bytes have columns
        damaged[at] = ~damaged[at];
        EXPECT_TRUE(from_columns(damaged).empty()) << at;
    }
}

TEST(recording, is_read_again_from_its_beginning_and_without_records) {
    MadeRecording made;
    fill(made);
    RecordingReader reader(made.file());
    Frame frame;
    std::size_t count = 0, again = 0;
    while (reader.read(frame)) count++;
    EXPECT_TRUE(reader.is_whole());
    reader.rewind();
    EXPECT_FALSE(reader.is_whole());
    while (reader.read(frame)) again++;
    EXPECT_EQ(count, again);
    const std::vector<Read> without = frames_in(made.file(), false);
    EXPECT_EQ(without.size() + 4, count);
    EXPECT_EQ(without.back().kind, FrameKind::end);
}

TEST(recording, that_is_cut_anywhere_is_readable_up_to_there) {
    MadeRecording made;
    fill(made);
    const std::string whole = bytes_of(made.file());
    const std::vector<Read> all = frames_in(made.file());
    const fs::path cut = made.beside("cut");
    std::size_t before = 0;
    for (std::size_t length = 0; length <= whole.size(); length++) {
        write_bytes(cut, whole.substr(0, length));
        if (length < 8) {
            EXPECT_THROW(RecordingReader reader(cut), std::runtime_error);
            continue;
        }
        const std::vector<Read> some = frames_in(cut);
        ASSERT_LE(some.size(), all.size());
        ASSERT_GE(some.size(), before);
        ASSERT_TRUE(std::equal(some.begin(), some.end(), all.begin()));
        RecordingReader reader(cut);
        for (Frame frame; reader.read(frame);) {
        }
        ASSERT_EQ(reader.is_whole(), length == whole.size());
        before = some.size();
    }
    EXPECT_EQ(before, all.size());
}

TEST(recording, whose_bytes_are_damaged_is_readable_up_to_there_and_never_wrong) {
    MadeRecording made;
    fill(made);
    const std::string whole = bytes_of(made.file());
    const std::vector<Read> all = frames_in(made.file());
    const fs::path damaged = made.beside("damaged");
    std::size_t undetected = 0;
    for (std::size_t at = 8; at < whole.size(); at++)
        for (const char bit : {'\x01', '\x80'}) {
            std::string bytes = whole;
            bytes[at] = static_cast<char>(bytes[at] ^ bit);
            write_bytes(damaged, bytes);
            const std::vector<Read> some = frames_in(damaged);
            if (some.size() == all.size()) undetected++; // a bit that says nothing, as some of zstd's heads do
            ASSERT_TRUE(std::equal(some.begin(), some.end(), all.begin())) << "byte " << at;
        }
    EXPECT_LE(undetected, 2 * all.size());
}

TEST(recording, is_refused_where_it_is_none) {
    const test::scratch_folder folder;
    EXPECT_THROW(RecordingReader reader(folder.path() / "missing"), std::runtime_error);
    EXPECT_THROW(RecordingReader reader(folder.path()), std::runtime_error);
    for (const char *text : {"", "FLAT", "FLATAUD0", "a text that is no recording"}) {
        write_bytes(folder.path() / "text", text);
        EXPECT_THROW(RecordingReader reader(folder.path() / "text"), std::runtime_error);
    }
    EXPECT_THROW(RecordingWriter writer(folder.path() / "missing" / "file"), std::system_error);
}

TEST(recording, of_another_format_is_named_as_such) {
    const test::scratch_folder folder;
    const fs::path file = folder.path() / "recording";
    write_bytes(file, "FLATAUD2 and whatever it had");
    EXPECT_TRUE(is_recording(file));
    try {
        RecordingReader reader(file);
        FAIL() << "it was read";
    } catch (const std::runtime_error &error) {
        EXPECT_NE(std::string(error.what()).find("another version"), std::string::npos) << error.what();
    }
}

TEST(recording, says_that_it_cannot_be_written) {
    EXPECT_THROW(
        {
            RecordingWriter writer("/dev/full");
            writer.write_text(FrameKind::start, "{}");
        },
        std::system_error);
}

} // namespace
} // namespace flat::audit
