#include "pprof_profile.hpp"

#include "flame.hpp"
#include "readable.hpp"
#include "whole_ns.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include <protozero/pbf_writer.hpp>
#include <zlib.h>

namespace flat::audit {
namespace {

using protozero::pbf_writer;

// The numbers of fields, as profile.proto has them.
namespace profile {
enum : protozero::pbf_tag_type {
    sample_type = 1,
    sample = 2,
    mapping = 3,
    location = 4,
    function = 5,
    string_table = 6,
    duration_nanos = 10,
    comment = 13,
    default_sample_type = 14
};
}
namespace value_type {
enum : protozero::pbf_tag_type { type = 1, unit = 2 };
}
namespace sample {
enum : protozero::pbf_tag_type { location_id = 1, value = 2, label = 3 };
}
namespace label {
enum : protozero::pbf_tag_type { key = 1, str = 2 };
}
namespace mapping {
enum : protozero::pbf_tag_type {
    id = 1,
    filename = 5,
    has_functions = 7,
    has_filenames,
    has_line_numbers,
    has_inlines
};
}
namespace location {
enum : protozero::pbf_tag_type { id = 1, mapping_id = 2, line = 4 };
}
namespace line {
enum : protozero::pbf_tag_type { function_id = 1, line = 2 };
}
namespace function {
enum : protozero::pbf_tag_type { id = 1, name = 2, filename = 4 };
}

/// Numbers things by the order in which they are first seen, from `first` on.
template <typename Key> class Numbers {
  public:
    explicit Numbers(std::uint64_t first) : next_(first) {}

    /// The number, and whether it is new.
    std::pair<std::uint64_t, bool> of(const Key &key) {
        const auto [found, is_new] = numbers_.try_emplace(key, next_);
        if (is_new) ++next_;
        return {found->second, is_new};
    }

  private:
    std::map<Key, std::uint64_t> numbers_;
    std::uint64_t next_;
};

/// A function, by the numbers of its name and its file, and a line in it.
using LineKey = std::pair<std::uint64_t, std::int64_t>;

/// Writes each thing when it is first needed: a message's fields may stand in any order. While a nested message is open
/// nothing else may be written, so what it refers to comes before it.
class ProfileWriter {
  public:
    ProfileWriter() { text(""); } // the first text must be empty

    /// The program itself: the first mapping is what pprof calls the profile by.
    void add_program(const std::string &file) { (void)mapping_of(file); }

    void add_type(const char *type, const char *unit) {
        const std::uint64_t type_text = text(type), unit_text = text(unit);
        pbf_writer nested(to_, profile::sample_type);
        write(nested, value_type::type, type_text);
        write(nested, value_type::unit, unit_text);
    }

    void add_sample(const StackTime &stack) {
        const std::vector<std::uint64_t> locations = locations_of(stack);
        const std::array values{small(stack.count), whole_ns(stack.total_ns), whole_ns(stack.max_ns),
                                small(stack.bytes)};
        const std::uint64_t key = text("operation"), operation = text(stack.operation);
        pbf_writer nested(to_, profile::sample);
        nested.add_packed_uint64(sample::location_id, locations.begin(), locations.end());
        nested.add_packed_int64(sample::value, values.begin(), values.end());
        pbf_writer label(nested, sample::label);
        write(label, label::key, key);
        write(label, label::str, operation);
    }

    /// The bytes; nothing may be added after that.
    std::string finish(const Findings &findings) {
        to_.add_int64(profile::duration_nanos, whole_ns(findings.seconds * 1e9));
        write(to_, profile::comment, text(findings.command));
        write(to_, profile::default_sample_type, text("time"));
        return std::move(bytes_);
    }

  private:
    static std::int64_t small(std::uint64_t count) {
        constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
        return count > static_cast<std::uint64_t>(most) ? most : static_cast<std::int64_t>(count);
    }

    static void write(pbf_writer &to, protozero::pbf_tag_type field, std::uint64_t number) {
        to.add_uint64(field, number);
    }

    /// The place of a text in the table of texts.
    std::uint64_t text(const std::string &any) {
        std::string clean = readable(any);
        const auto [number, is_new] = texts_.of(clean);
        if (is_new) to_.add_string(profile::string_table, clean);
        return number;
    }

    std::uint64_t mapping_of(const std::string &module) {
        const auto [number, is_new] = mappings_.of(module);
        if (!is_new) return number;
        const std::uint64_t file = text(module);
        pbf_writer nested(to_, profile::mapping);
        write(nested, mapping::id, number);
        write(nested, mapping::filename, file);
        for (const auto field :
             {mapping::has_functions, mapping::has_filenames, mapping::has_line_numbers, mapping::has_inlines})
            nested.add_bool(field, true); // so that pprof does not look for more
        return number;
    }

    std::uint64_t function_of(const symbols::SourceFrame &frame) {
        const std::pair key(text(name_of(frame)), text(frame.file));
        const auto [number, is_new] = functions_.of(key);
        if (!is_new) return number;
        pbf_writer nested(to_, profile::function);
        write(nested, function::id, number);
        write(nested, function::name, key.first);
        write(nested, function::filename, key.second);
        return number;
    }

    /// Of one address: its function, and before that what was inlined into it.
    std::uint64_t location_of(std::span<const symbols::SourceFrame> frames) {
        const std::uint64_t module = mapping_of(frames.back().module);
        std::pair<std::uint64_t, std::vector<LineKey>> key{module, {}};
        for (const symbols::SourceFrame &frame : frames) key.second.emplace_back(function_of(frame), frame.line);
        const auto [number, is_new] = locations_.of(key);
        if (!is_new) return number;
        pbf_writer nested(to_, profile::location);
        write(nested, location::id, number);
        write(nested, location::mapping_id, module);
        for (const auto &[function, line_number] : key.second) {
            pbf_writer line(nested, location::line);
            write(line, line::function_id, function);
            line.add_int64(line::line, line_number);
        }
        return number;
    }

    /// The innermost first.
    std::vector<std::uint64_t> locations_of(const StackTime &stack) {
        static const symbols::SourceFrame unknown{};
        std::vector<std::uint64_t> locations;
        std::span<const symbols::SourceFrame> left(stack.stack);
        if (left.empty()) left = std::span(&unknown, 1);
        while (!left.empty()) {
            const auto outermost = std::ranges::find(left, false, &symbols::SourceFrame::inlined);
            const auto count = std::min(static_cast<std::size_t>(outermost - left.begin()) + 1, left.size());
            locations.push_back(location_of(left.first(count)));
            left = left.subspan(count);
        }
        return locations;
    }

    std::string bytes_;
    pbf_writer to_{bytes_};
    Numbers<std::string> texts_{0};
    Numbers<std::string> mappings_{1};
    Numbers<std::pair<std::uint64_t, std::uint64_t>> functions_{1};
    Numbers<std::pair<std::uint64_t, std::vector<LineKey>>> locations_{1};
};

/// As `gzip` writes it, without a time and a name.
std::string gzipped(std::string bytes) {
    constexpr int window = 15, of_gzip = 16, memory = 8;
    z_stream stream{};
    if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, window + of_gzip, memory, Z_DEFAULT_STRATEGY) != Z_OK)
        throw std::bad_alloc();
    std::string packed;
    std::array<char, 65536> piece;
    std::size_t done = 0;
    int status = Z_OK;
    while (status != Z_STREAM_END) {
        if (stream.avail_in == 0) { // zlib counts in 32 bits
            const std::size_t count = std::min<std::size_t>(bytes.size() - done, 1u << 30);
            stream.next_in = reinterpret_cast<Bytef *>(bytes.data() + done);
            stream.avail_in = static_cast<uInt>(count);
            done += count;
        }
        stream.next_out = reinterpret_cast<Bytef *>(piece.data());
        stream.avail_out = static_cast<uInt>(piece.size());
        status = deflate(&stream, done == bytes.size() ? Z_FINISH : Z_NO_FLUSH);
        packed.append(piece.data(), piece.size() - stream.avail_out);
    }
    deflateEnd(&stream);
    return packed;
}

} // namespace

std::string pprof_profile(const Findings &findings) {
    ProfileWriter writer;
    writer.add_type("calls", "count");
    writer.add_type("time", "nanoseconds");
    writer.add_type("worst", "nanoseconds");
    writer.add_type("space", "bytes");
    if (!findings.threads.empty()) writer.add_program(findings.threads.front().program);
    for (const StackTime &stack : findings.stacks) writer.add_sample(stack);
    return gzipped(writer.finish(findings));
}

} // namespace flat::audit
