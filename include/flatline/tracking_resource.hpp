// tracking_resource: counts a program's requests to a memory resource by size, for `flatline plan`.
#ifndef FLATLINE_TRACKING_RESOURCE_HPP
#define FLATLINE_TRACKING_RESOURCE_HPP

#include <flatline/resource.hpp>

#include <cinttypes>
#include <cstddef>
#include <cstdint>
#include <cstdio>

namespace flat {

struct tracking_stats {
    std::uint64_t requests;    ///< that succeeded
    std::uint64_t live;        ///< blocks allocated and not yet freed
    std::uint64_t live_bytes;  ///< in live blocks, as requested (0 counts as 1)
    std::uint64_t peak_bytes;  ///< the most of them that were ever live at once
    std::uint64_t total_bytes; ///< bytes that an arena that is never reset would have needed: every request ever,
                               ///< rounded up to 16 bytes, and for an alignment above 16 the most padding that it can
                               ///< need
};

/// One row of the table of sizes.
struct tracked_size {
    std::uint64_t size;      ///< bytes: the largest that counts here
    std::uint64_t alignment; ///< the largest requested
    std::uint64_t requests;  ///< live <= peak_live <= requests
    std::uint64_t live;      ///< blocks allocated and not yet freed
    std::uint64_t peak_live; ///< the most that were ever live at once
};

/// Counts the calls that it passes on to another resource. Each request is one addition to a table inside the object,
/// which takes 18 KiB: use static storage rather than a small stack. It never allocates memory of its own. Sizes are
/// counted in steps of 16 bytes up to 4096, above that in four steps between powers of two. Requests that the resource
/// below refused are not counted. A free of a size of which no block is live is refused as foreign.
class FLAT_API tracking_resource final : public detail::layered_resource<tracking_resource> {
  public:
    static constexpr std::size_t rows = 256 + 4 * (64 - 12);
    static constexpr const char *name = "tracking_resource";

    explicit tracking_resource(upstream below = {}) noexcept : layered_resource(below) {}

    tracking_stats stats() const noexcept { return stats_; }

    /// The rows with at least one request, ascending: fills `to[0 .. min(capacity, result) - 1]` and returns the number
    /// of such rows. `to` may be null if `capacity` is 0.
    std::size_t sizes(tracked_size *to, std::size_t capacity) const noexcept {
        std::size_t found = 0;
        for (std::size_t i = 0; i < rows; i++) {
            if (table_[i].requests == 0) continue;
            if (found < capacity) {
                to[found] = table_[i];
                to[found].size = largest_of_row(i);
            }
            found++;
        }
        return found;
    }

    /// The largest size that counts in the row of `bytes`.
    static constexpr std::uint64_t row_size(std::uint64_t bytes) noexcept { return largest_of_row(row_of(bytes)); }

    /// Writes the counts as JSON (`flatline.tracking/1`), the file that `flatline plan` reads. Call it after the work:
    /// it makes system calls and uses the heap. False iff the file could not be written; errno says why.
    [[nodiscard]] bool write(std::FILE *file) const noexcept {
        bool written =
            std::fprintf(file,
                         "{\"schema\":\"flatline.tracking/1\",\"requests\":%" PRIu64 ",\"live_bytes\":%" PRIu64
                         ",\"peak_bytes\":%" PRIu64 ",\"total_bytes\":%" PRIu64 ",\"sizes\":[",
                         stats_.requests, stats_.live_bytes, stats_.peak_bytes, stats_.total_bytes) > 0;
        const char *between = "\n";
        for (std::size_t i = 0; i < rows; i++) {
            const tracked_size &row = table_[i];
            if (row.requests == 0) continue;
            written =
                std::fprintf(file,
                             "%s {\"size\":%" PRIu64 ",\"alignment\":%" PRIu64 ",\"requests\":%" PRIu64
                             ",\"live\":%" PRIu64 ",\"peak_live\":%" PRIu64 "}",
                             between, largest_of_row(i), row.alignment, row.requests, row.live, row.peak_live) > 0 &&
                written;
            between = ",\n";
        }
        return std::fprintf(file, "]}\n") > 0 && written && std::fflush(file) == 0;
    }
    [[nodiscard]] bool write(const char *path) const noexcept {
        std::FILE *file = std::fopen(path, "w");
        if (file == nullptr) return false;
        const bool written = write(file);
        return std::fclose(file) == 0 && written;
    }

  private:
    friend layered_resource;
    static constexpr unsigned small_rows = 256; // up to 4096 bytes, one per granule of 16

    static constexpr std::uint64_t counted(std::uint64_t bytes) noexcept { return bytes + (bytes == 0); }

    /// Above 4096: bytes - 1 is 1qqx...x in binary, with a row for each position of its first bit and each qq.
    static constexpr std::size_t row_of(std::uint64_t bytes) noexcept {
        const std::uint64_t last = counted(bytes) - 1;
        if (last < 4096) return static_cast<unsigned>(last / 16);
        const unsigned bit = 63 - static_cast<unsigned>(__builtin_clzll(last));
        return small_rows + (bit - 12) * 4 + static_cast<unsigned>(last >> (bit - 2) & 3);
    }
    static constexpr std::uint64_t largest_of_row(std::size_t row) noexcept {
        if (row < small_rows) return (row + 1) * 16;
        const unsigned bit = static_cast<unsigned>(12 + (row - small_rows) / 4);
        const std::uint64_t quarter = (row - small_rows) % 4;
        return ((4 + quarter) << (bit - 2)) + ((std::uint64_t{1} << (bit - 2)) - 1) + 1 -
               (bit == 63 && quarter == 3); // 2^64 does not fit
    }

    bool may_allocate(std::size_t) const noexcept { return true; }
    void allocated(std::size_t bytes, std::size_t alignment) noexcept {
        tracked_size &row = table_[row_of(bytes)];
        row.requests++;
        row.live++;
        if (row.live > row.peak_live) row.peak_live = row.live;
        if (alignment > row.alignment) row.alignment = alignment;
        stats_.requests++;
        stats_.live++;
        stats_.live_bytes += counted(bytes);
        if (stats_.live_bytes > stats_.peak_bytes) stats_.peak_bytes = stats_.live_bytes;
        stats_.total_bytes += (counted(bytes) + 15) / 16 * 16 + (alignment > 16 ? alignment - 16 : 0);
    }
    bool may_deallocate(std::size_t bytes) const noexcept {
        return table_[row_of(bytes)].live > 0 && counted(bytes) <= stats_.live_bytes;
    }
    void deallocated(std::size_t bytes) noexcept {
        table_[row_of(bytes)].live--;
        stats_.live--;
        stats_.live_bytes -= counted(bytes);
    }

    tracking_stats stats_{};
    tracked_size table_[rows]{};
};

} // namespace flat

#endif
