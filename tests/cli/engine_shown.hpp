// The page of an engine, as bytes that a test may change.
#ifndef FLATLINE_TESTS_CLI_ENGINE_SHOWN_HPP
#define FLATLINE_TESTS_CLI_ENGINE_SHOWN_HPP

#include "engine/dispatch/switchback.h"
#include "engine/statistics.h"

#include <flatline/engine.h>

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

namespace test {

// A page without an engine: what create lays out, filled in by the test.
class engine_shown {
  public:
    explicit engine_shown(std::uint64_t workers = 2, std::uint64_t lanes = 3, std::uint64_t classes = 2) {
        const std::uint64_t workers_at = sizeof(engine_statistics);
        const std::uint64_t submitters_at = workers_at + workers * sizeof(worker_statistics);
        const std::uint64_t each = submitter_statistics_bytes(workers);
        const std::uint64_t switchbacks_at = submitters_at + (workers + lanes) * each;
        const std::uint64_t of_switchback = (sizeof(::switchback) + LINE_PAIR - 1) / LINE_PAIR * LINE_PAIR;
        bytes_.resize((switchbacks_at + (workers + lanes) * of_switchback + 4095) / 4096 * 4096);
        head() = {
            .magic = STATISTICS_MAGIC,
            .bytes = bytes_.size(),
            .worker_count = workers,
            .lane_count = lanes,
            .workers_at = workers_at,
            .submitters_at = submitters_at,
            .worker_bytes = sizeof(worker_statistics),
            .submitter_bytes = each,
            .switchbacks_at = switchbacks_at,
            .switchback_bytes = of_switchback,
            .policy = 13, // predictive
            .process = 4711,
            .state = 0,
            .rated_ticks = 1000000,
            .watchdog_ticks = 5000000,
            .rate = {.origin = 1000, .ns_per_tick = std::uint64_t{1} << 31, .ticks_per_ns = std::uint64_t{1} << 33},
            .types = {}};
        for (std::uint64_t i = 0; i < workers + lanes; i++)
            switchback_of(i).options = {.seed = 7,
                                        .begin = 1000,
                                        .washout = 256,
                                        .closing = 4096,
                                        .slice_bits = 10,
                                        .share_bits = 1,
                                        .most_bits = 16,
                                        .shortest_bits = 4};
        for (std::uint64_t i = 0; i < workers; i++) {
            worker(i).class_count = classes;
            worker(i).thread = 5000 + i;
            for (std::uint64_t c = 0; c < classes; c++) worker(i).classes[c].block_size = std::uint64_t{64} << c;
        }
    }

    engine_statistics &head() { return at<engine_statistics>(0); }
    worker_statistics &worker(std::uint64_t number) {
        return at<worker_statistics>(sizeof(engine_statistics) + number * sizeof(worker_statistics));
    }
    submitter_statistics &submitter(std::uint64_t number) {
        return at<submitter_statistics>(head().submitters_at + number * head().submitter_bytes);
    }
    ::switchback &switchback_of(std::uint64_t submitter) {
        return at<::switchback>(head().switchbacks_at + submitter * head().switchback_bytes);
    }
    std::uint64_t &accepted(std::uint64_t submitter, std::uint64_t worker) {
        return at<std::uint64_t>(head().submitters_at + submitter * head().submitter_bytes +
                                 sizeof(submitter_statistics) + worker * sizeof(std::uint64_t));
    }
    std::vector<std::byte> bytes() const {
        const auto all = std::as_bytes(std::span(bytes_));
        return {all.begin(), all.end()};
    }

  private:
    template <typename Part> Part &at(std::uint64_t offset) {
        return *reinterpret_cast<Part *>(bytes_.data() + offset); // the vector below is aligned for each of them
    }

    struct alignas(LINE_PAIR) aligned {
        std::byte bytes[LINE_PAIR];
    };
    class storage {
      public:
        void resize(std::size_t size) {
            lines_.resize(size / sizeof(aligned));
            std::memset(static_cast<void *>(lines_.data()), 0, size);
        }
        std::size_t size() const { return lines_.size() * sizeof(aligned); }
        std::byte *data() { return lines_.data()->bytes; }
        const std::byte *data() const { return lines_.data()->bytes; }
        const std::byte *begin() const { return data(); }
        const std::byte *end() const { return data() + size(); }

      private:
        std::vector<aligned> lines_;
    };
    storage bytes_;
};

} // namespace test

#endif
