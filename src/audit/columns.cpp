#include "columns.hpp"

#include <array>
#include <cstdint>
#include <cstring>

namespace flat::audit {
namespace {

constexpr std::size_t group = 8; // records of which the bytes of a word make up a square
constexpr std::size_t words = sizeof(audit_record) / sizeof(std::uint64_t);

using Square = std::array<std::uint64_t, group>;

/// Swaps rows and columns of the bytes of eight words; twice, it changes nothing. By Warren, Hacker's Delight, 7-3.
void transpose(Square &rows) {
    constexpr std::array<std::uint64_t, 3> masks{0x00000000ffffffff, 0x0000ffff0000ffff, 0x00ff00ff00ff00ff};
    for (std::size_t step = 0, apart = group / 2; apart != 0; step++, apart /= 2) {
        const unsigned shift = static_cast<unsigned>(8 * apart);
        for (std::size_t i = 0; i < group; i++) {
            if ((i & apart) != 0) continue;
            const std::uint64_t swapped = (rows[i] >> shift ^ rows[i + apart]) & masks[step];
            rows[i + apart] ^= swapped;
            rows[i] ^= swapped << shift;
        }
    }
}

/// The column of byte `k` of word `w`, of `groups` groups.
std::size_t column_of(std::size_t w, std::size_t k, std::size_t groups) { return (w * group + k) * groups * group; }

std::uint64_t since(const audit_record &record, std::uint64_t &before) {
    const std::uint64_t time = audit_time_of(&record), apart = time - before;
    before = time;
    return apart << AUDIT_OPERATION_BITS | audit_operation_of(&record);
}

void restore(audit_record &record, std::uint64_t &time) {
    time += record.words[0] >> AUDIT_OPERATION_BITS;
    record.words[0] = time << AUDIT_OPERATION_BITS | audit_operation_of(&record);
}

} // namespace

std::vector<std::byte> to_columns(std::span<const audit_record> records) {
    std::vector<std::byte> columns(records.size_bytes());
    const std::size_t groups = records.size() / group, rest = groups * group;
    std::uint64_t before = 0;
    for (std::size_t g = 0; g < groups; g++) {
        std::array<Square, words> squares;
        for (std::size_t i = 0; i < group; i++) {
            const audit_record &record = records[g * group + i];
            squares[0][i] = since(record, before);
            squares[1][i] = record.words[1];
            squares[2][i] = record.words[2];
        }
        for (std::size_t w = 0; w < words; w++) {
            transpose(squares[w]);
            for (std::size_t k = 0; k < group; k++)
                std::memcpy(columns.data() + column_of(w, k, groups) + g * group, &squares[w][k], group);
        }
    }
    for (std::size_t i = rest; i < records.size(); i++) {
        audit_record record = records[i];
        record.words[0] = since(records[i], before);
        std::memcpy(columns.data() + i * sizeof record, &record, sizeof record);
    }
    return columns;
}

std::vector<audit_record> from_columns(std::span<const std::byte> columns) {
    std::vector<audit_record> records(columns.size() / sizeof(audit_record));
    const std::size_t groups = records.size() / group, rest = groups * group;
    std::uint64_t time = 0;
    for (std::size_t g = 0; g < groups; g++) {
        for (std::size_t w = 0; w < words; w++) {
            Square square;
            for (std::size_t k = 0; k < group; k++)
                std::memcpy(&square[k], columns.data() + column_of(w, k, groups) + g * group, group);
            transpose(square);
            for (std::size_t i = 0; i < group; i++) records[g * group + i].words[w] = square[i];
        }
        for (std::size_t i = 0; i < group; i++) restore(records[g * group + i], time);
    }
    for (std::size_t i = rest; i < records.size(); i++) {
        std::memcpy(&records[i], columns.data() + i * sizeof(audit_record), sizeof(audit_record));
        restore(records[i], time);
    }
    return records;
}

} // namespace flat::audit
