#include "columns.hpp"

#include <array>
#include <cstdint>
#include <cstring>

namespace flat::audit {
namespace {

constexpr std::size_t group = 8; // records of which the bytes of a word make up a square
constexpr std::size_t words = sizeof(audit_record) / sizeof(std::uint64_t);
constexpr std::size_t bytes = sizeof(std::uint64_t); // of a word

using Square = std::array<std::uint64_t, group>;
using Squares = std::array<std::uint64_t, words * group>; // of a group, one for each word

/// Before the columns, behind which the last records stand as they are, fewer than a group.
struct Head {
    std::uint32_t count = 0;                 // of all records
    std::uint32_t varies = 0;                // a bit for each byte of a record that has a column
    std::array<std::uint64_t, words> same{}; // the other bytes
};

using Bytes [[gnu::vector_size(16)]] = std::uint8_t;
using Pairs [[gnu::vector_size(16)]] = std::uint16_t;
using Fours [[gnu::vector_size(16)]] = std::uint32_t;

Bytes lower(Bytes a, Bytes b) {
    return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}
Pairs lower(Pairs a, Pairs b) { return __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11); }
Pairs upper(Pairs a, Pairs b) { return __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15); }
Fours lower(Fours a, Fours b) { return __builtin_shufflevector(a, b, 0, 4, 1, 5); }
Fours upper(Fours a, Fours b) { return __builtin_shufflevector(a, b, 2, 6, 3, 7); }

Pairs interleaved(std::uint64_t a, std::uint64_t b) {
    using Words [[gnu::vector_size(16)]] = std::uint64_t;
    return (Pairs)lower((Bytes)(Words{a, 0}), (Bytes)(Words{b, 0}));
}

/// Swaps rows and columns of the bytes of eight words; twice, it changes nothing.
void transpose(std::uint64_t *rows) {
    const Pairs a = interleaved(rows[0], rows[1]), b = interleaved(rows[2], rows[3]);
    const Pairs c = interleaved(rows[4], rows[5]), d = interleaved(rows[6], rows[7]);
    const std::array<Fours, 4> columns{
        lower((Fours)lower(a, b), (Fours)lower(c, d)), upper((Fours)lower(a, b), (Fours)lower(c, d)),
        lower((Fours)upper(a, b), (Fours)upper(c, d)), upper((Fours)upper(a, b), (Fours)upper(c, d))};
    static_assert(sizeof columns == sizeof(Square));
    std::memcpy(rows, columns.data(), sizeof columns);
}

std::uint64_t since(const audit_record &record, std::uint64_t &before) {
    const std::uint64_t time = audit_time_of(&record), apart = time - before;
    before = time;
    return apart << AUDIT_OPERATION_BITS | audit_operation_of(&record);
}

void restore(audit_record &record, std::uint64_t &time) {
    time += record.words[0] >> AUDIT_OPERATION_BITS;
    record.words[0] = time << AUDIT_OPERATION_BITS | audit_operation_of(&record);
}

/// The bytes of a record that have a column, in the order of the columns.
class Columns {
  public:
    explicit Columns(const Head &head) : apart_(head.count / group * group) {
        for (std::size_t byte = 0; byte < words * bytes; byte++)
            if ((head.varies >> byte & 1) != 0) byte_of_[count_++] = byte;
    }
    void store(std::byte *at, const Squares &squares) const {
        for (std::size_t i = 0; i < count_; i++) std::memcpy(at + i * apart_, &squares[byte_of_[i]], group);
    }
    void load(const std::byte *at, Squares &squares) const {
        for (std::size_t i = 0; i < count_; i++) std::memcpy(&squares[byte_of_[i]], at + i * apart_, group);
    }

  private:
    std::array<std::size_t, words * bytes> byte_of_{};
    std::size_t count_ = 0, apart_;
};

/// What is the same in all whole groups.
Head head_of(std::span<const audit_record> records) {
    Head head;
    head.count = static_cast<std::uint32_t>(records.size());
    const std::size_t whole = records.size() / group * group;
    if (whole == 0) return head;
    std::array<std::uint64_t, words> differs{};
    std::uint64_t before = 0;
    head.same = {since(records[0], before), records[0].words[1], records[0].words[2]};
    for (const audit_record &record : records.first(whole).subspan(1)) {
        differs[0] |= since(record, before) ^ head.same[0];
        differs[1] |= record.words[1] ^ head.same[1];
        differs[2] |= record.words[2] ^ head.same[2];
    }
    for (std::size_t w = 0; w < words; w++)
        for (std::size_t k = 0; k < bytes; k++)
            if ((differs[w] >> (8 * k) & 0xff) != 0) head.varies |= 1U << (w * bytes + k);
    return head;
}

std::size_t packed_size(const Head &head) {
    const std::size_t columns = static_cast<std::size_t>(__builtin_popcount(head.varies));
    return columns * (head.count / group * group) + head.count % group * sizeof(audit_record);
}

} // namespace

void append_columns(std::vector<std::byte> &packed, std::span<const audit_record> records) {
    const Head head = head_of(records);
    std::size_t at = packed.size();
    packed.resize(at + sizeof head + packed_size(head));
    std::memcpy(packed.data() + at, &head, sizeof head);
    at += sizeof head;
    const std::size_t groups = records.size() / group;
    const Columns columns(head);
    std::uint64_t before = 0;
    for (std::size_t g = 0; g < groups; g++) {
        Squares squares;
        for (std::size_t i = 0; i < group; i++) {
            const audit_record &record = records[g * group + i];
            squares[i] = since(record, before);
            squares[group + i] = record.words[1];
            squares[2 * group + i] = record.words[2];
        }
        for (std::size_t w = 0; w < words; w++) transpose(&squares[w * group]);
        columns.store(packed.data() + at + g * group, squares);
    }
    std::byte *rest = packed.data() + packed.size() - records.size() % group * sizeof(audit_record);
    for (const audit_record &last : records.subspan(groups * group)) {
        audit_record record = last;
        record.words[0] = since(last, before);
        std::memcpy(rest, &record, sizeof record);
        rest += sizeof record;
    }
}

std::vector<audit_record> from_columns(std::span<const std::byte> packed) {
    Head head;
    if (packed.size() < sizeof head) return {};
    std::memcpy(&head, packed.data(), sizeof head);
    packed = packed.subspan(sizeof head);
    if (head.count > most_in_columns || head.varies >> (words * bytes) != 0 || packed.size() != packed_size(head))
        return {};
    std::vector<audit_record> records(head.count);
    const std::size_t groups = head.count / group;
    const Columns columns(head);
    Squares same;
    for (std::size_t byte = 0; byte < words * bytes; byte++)
        same[byte] = (head.same[byte / bytes] >> (8 * (byte % bytes)) & 0xff) * 0x0101010101010101U;
    std::uint64_t time = 0;
    for (std::size_t g = 0; g < groups; g++) {
        Squares squares = same;
        columns.load(packed.data() + g * group, squares);
        for (std::size_t w = 0; w < words; w++) transpose(&squares[w * group]);
        for (std::size_t i = 0; i < group; i++) {
            audit_record &record = records[g * group + i];
            record = {{squares[i], squares[group + i], squares[2 * group + i]}};
            restore(record, time);
        }
    }
    const std::byte *rest = packed.data() + packed.size() - head.count % group * sizeof(audit_record);
    for (std::size_t i = groups * group; i < records.size(); i++) {
        std::memcpy(&records[i], rest, sizeof(audit_record));
        restore(records[i], time);
        rest += sizeof(audit_record);
    }
    return records;
}

} // namespace flat::audit
