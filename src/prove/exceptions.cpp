#include "exceptions.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace flat::prove {
namespace {

// Sources: the chapters "Exception Frames" and "DWARF Extensions" of the Linux Standard Base, and the Itanium C++ ABI's
// "Exception Handling Tables". gcc, clang and rustc write the same tables for every language.

constexpr std::uint8_t omitted = 0xff, indirect = 0x80;

/// Reads consecutive numbers, and stops for good at the first that is not there.
class Reader {
  public:
    Reader(const Binary &binary, std::uint64_t address, std::uint64_t bytes)
        : binary_(binary), at_(address), left_(binary.loaded_at(address)) {
        left_ = left_.first(std::min<std::uint64_t>(left_.size(), bytes));
    }

    bool failed() const { return failed_; }
    bool at_end() const { return failed_ || left_.empty(); }
    std::uint64_t at() const { return at_; }

    std::uint64_t number(unsigned bytes) {
        std::uint64_t value = 0;
        if (left_.size() < bytes) return fail();
        std::memcpy(&value, left_.data(), bytes);
        skip(bytes);
        return value;
    }

    void skip(std::uint64_t bytes) {
        if (bytes > left_.size()) return void(fail());
        left_ = left_.subspan(bytes);
        at_ += bytes;
    }

    std::uint64_t uleb() {
        std::uint64_t value = 0;
        for (unsigned shift = 0; !failed_; shift += 7) {
            const std::uint64_t byte = number(1);
            if (shift < 64) value |= (byte & 0x7f) << shift;
            if ((byte & 0x80) == 0) break;
        }
        return value;
    }

    std::string_view text() {
        const auto *chars = reinterpret_cast<const char *>(left_.data());
        const std::size_t size = std::string_view(chars, left_.size()).find('\0');
        if (size == std::string_view::npos) return fail(), std::string_view();
        skip(size + 1);
        return {chars, size};
    }

    /// Reads a pointer in one of the forms DW_EH_PE_*; 0 means no pointer.
    std::uint64_t pointer(std::uint8_t form) {
        const std::uint64_t here = at_;
        std::uint64_t value = 0;
        switch (form & 0x0f) {
        case 0x00: value = whole_pointer(); break;
        case 0x01: value = uleb(); break;
        case 0x02: value = number(2); break;
        case 0x03: value = number(4); break;
        case 0x04:
        case 0x0c: value = number(8); break;
        case 0x0a: value = static_cast<std::uint64_t>(std::int64_t{static_cast<std::int16_t>(number(2))}); break;
        case 0x0b: value = static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(number(4))}); break;
        default: return fail();
        }
        if (value == 0) return 0;
        const std::uint8_t relative = form & 0x70;
        if (relative == 0x10) value += here;
        if (relative != 0x10 && relative != 0) return fail();
        if ((form & indirect) == 0) return value;
        const std::optional<std::uint64_t> behind = binary_.constant_at(value, 8);
        return behind ? *behind : fail();
    }

    std::uint64_t fail() {
        failed_ = true;
        left_ = {};
        return 0;
    }

  private:
    /// A pointer that the loader may have to fill.
    std::uint64_t whole_pointer() {
        const std::optional<std::uint64_t> value = binary_.constant_at(at_, 8);
        skip(8);
        return value ? *value : fail();
    }

    const Binary &binary_;
    std::uint64_t at_;
    std::span<const std::byte> left_;
    bool failed_ = false;
};

/// The data that all frames of one common record share.
struct Common {
    std::uint8_t pointers = 0, tables = omitted; // forms
    bool is_augmented = false;
};

std::optional<Common> common_at(const Binary &binary, std::uint64_t address) {
    Reader in(binary, address, ~std::uint64_t{0});
    const std::uint64_t length = in.number(4);
    if (length == 0xffffffff) in.skip(8);
    if (in.number(4) != 0) return std::nullopt; // not a common record
    const std::uint64_t version = in.number(1);
    const std::string_view augmentation = in.text();
    in.uleb(), in.uleb(); // alignment of code and data
    if (version == 1)
        in.number(1);
    else
        in.uleb();
    Common common;
    if (augmentation.empty()) return in.failed() ? std::nullopt : std::optional(common);
    if (augmentation[0] != 'z') return std::nullopt;
    common.is_augmented = true;
    in.uleb();
    for (const char letter : augmentation.substr(1)) {
        if (letter == 'L') common.tables = static_cast<std::uint8_t>(in.number(1));
        if (letter == 'R') common.pointers = static_cast<std::uint8_t>(in.number(1));
        if (letter == 'P') { // the function that reads the tables
            const auto form = static_cast<std::uint8_t>(in.number(1));
            in.pointer(form & static_cast<std::uint8_t>(~indirect));
        }
        if (std::string_view("LRPSBG").find(letter) == std::string_view::npos) return std::nullopt;
    }
    return in.failed() ? std::nullopt : std::optional(common);
}

} // namespace

LandingPads::LandingPads(const Binary &binary) : binary_(binary), is_readable_(read_frames()) {
    std::ranges::sort(frames_, {}, &Frame::start);
}

bool LandingPads::read_frames() {
    if (binary_.unwind_tables() == 0) return true;
    std::map<std::uint64_t, std::optional<Common>> commons;
    Reader in(binary_, binary_.unwind_tables(), binary_.unwind_bytes());
    while (!in.at_end()) {
        std::uint64_t length = in.number(4);
        if (length == 0) break; // end of the tables
        if (length == 0xffffffff) length = in.number(8);
        const std::uint64_t here = in.at();
        Reader record(binary_, here, length);
        in.skip(length);
        const std::uint64_t back = record.number(4);
        if (back == 0) continue; // a common record; read when a frame refers to it
        const auto [found, is_new] = commons.try_emplace(here - back);
        if (is_new) found->second = common_at(binary_, here - back);
        if (!found->second) return false;
        const Common &common = *found->second;
        const std::uint64_t start = record.pointer(common.pointers);
        const std::uint64_t bytes = record.pointer(common.pointers & 0x0f);
        std::uint64_t table = 0;
        if (common.is_augmented) {
            record.uleb();
            if (common.tables != omitted) table = record.pointer(common.tables);
        }
        if (record.failed()) return false;
        frames_.push_back({start, start + bytes, table});
    }
    return !in.failed();
}

const LandingPads::Table &LandingPads::table_of(const Frame &frame) const {
    const auto [found, is_new] = tables_.try_emplace(frame.start);
    Table &table = found->second;
    if (!is_new) return table;
    Reader in(binary_, frame.table, ~std::uint64_t{0});
    const auto pads_form = static_cast<std::uint8_t>(in.number(1));
    const std::uint64_t pads_from = pads_form == omitted ? frame.start : in.pointer(pads_form);
    if (in.number(1) != omitted) in.uleb(); // types
    const auto form = static_cast<std::uint8_t>(in.number(1));
    const std::uint64_t bytes = in.uleb();
    Reader calls(binary_, in.at(), bytes);
    while (!calls.at_end()) {
        const std::uint64_t start = frame.start + calls.pointer(form), length = calls.pointer(form),
                            pad = calls.pointer(form);
        calls.uleb(); // the types of exceptions; assume any
        Calls one{start, start + length, std::nullopt};
        if (pad != 0) one.pad = pads_from + pad;
        table.calls.push_back(one);
    }
    table.is_readable = !in.failed() && !calls.failed() && (form & 0x70) == 0;
    return table;
}

LandingPads::Answer LandingPads::at(std::uint64_t address) const {
    if (!is_readable_) return {false, std::nullopt, 0};
    auto frame = std::ranges::upper_bound(frames_, address, {}, &Frame::start);
    if (frame == frames_.begin()) return {};
    frame--;
    if (address >= frame->end || frame->table == 0) return {};
    const Table &table = table_of(*frame);
    if (!table.is_readable) return {false, std::nullopt, 0};
    for (const Calls &each : table.calls)
        if (address >= each.start && address < each.end) return {true, each.pad, each.start};
    return {}; // an exception here ends the program
}

} // namespace flat::prove
