#include "catalogue.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace flat::bench {
namespace {

constexpr std::string_view part_of_flatline = "build Flatline again: it is part of it";
constexpr std::string_view from_its_source = "scripts/bootstrap bench brings cargo; then build Flatline again, with a network";

constexpr std::array all_backends{
    Backend{"flatline-pool", "Flatline pool", "pool", Kind::subject, "pool", "", "", "", part_of_flatline},
    Backend{"flatline-pool-again", "Flatline pool, again", "again", Kind::again, "pool", "", "", "", part_of_flatline},
    Backend{"floor", "floor (empty calls)", "floor", Kind::control, "floor", "", "", "", part_of_flatline},
    Backend{"list", "list (unchecked)", "list", Kind::unchecked, "list", "", "", "", part_of_flatline},
    Backend{"glibc", "glibc", "glibc", Kind::general, "malloc", "", "", "libc.so", part_of_flatline},
    Backend{"glibc-tuned", "glibc, tuned", "tuned", Kind::general, "glibc-tuned", "", "", "libc.so", part_of_flatline},
    Backend{"jemalloc", "jemalloc", "je", Kind::general, "malloc", "jemalloc", "libjemalloc.so.2", "libjemalloc.so",
            "apt-get install libjemalloc2"},
    Backend{"tcmalloc", "tcmalloc", "tc", Kind::general, "malloc", "", "libtcmalloc_minimal.so.4",
            "libtcmalloc_minimal.so", "apt-get install libtcmalloc-minimal4"},
    Backend{"mimalloc", "mimalloc", "mi", Kind::general, "malloc", "mimalloc", "libmimalloc.so.2", "libmimalloc.so",
            "apt-get install libmimalloc2.0"},
    Backend{"snmalloc", "snmalloc", "sn", Kind::general, "malloc", "snmalloc", "", "libsnmalloc.so", from_its_source},
    Backend{"rpmalloc", "rpmalloc", "rp", Kind::general, "malloc", "rpmalloc", "", "librpmalloc.so", from_its_source},
    Backend{"hardened-malloc", "hardened_malloc", "hard", Kind::general, "malloc", "hardened_malloc", "",
            "libhardened_malloc.so", from_its_source},
    Backend{"tbb", "oneTBB", "tbb", Kind::general, "malloc", "", "libtbbmalloc_proxy.so.2", "libtbbmalloc_proxy.so",
            "apt-get install libtbbmalloc2"},
    Backend{"boost-pool", "Boost.Pool", "boost", Kind::fixed_pool, "boost-pool", "", "", "",
            "apt-get install libboost1.74-dev, then build Flatline again"},
    Backend{"foonathan-pool", "foonathan/memory", "foona", Kind::fixed_pool, "foonathan-pool", "", "", "",
            "apt-get install libfoonathan-memory-dev, then build Flatline again"},
};

constexpr std::array<std::string_view, 6> all_suites{"hot", "fifo", "churn", "mixed", "order", "throughput"};

constexpr std::array<std::size_t, 5> all_sizes{16, 64, 256, 1024, 4096};
constexpr std::array<std::size_t, 2> two_sizes{64, 1024};
constexpr std::array<std::size_t, 1> mixed_sizes{0};

constexpr unsigned block_of_calls = 32;

/// With four processes a cell has 100,000 samples, the least for which P99.99 is told; all cells of all backends then
/// take three to four minutes.
constexpr std::size_t call_samples = 25000;
/// A phase is 200,000 calls and a batch 100,000: the mean over so many needs few samples.
constexpr std::size_t phase_samples = 12;
constexpr std::size_t batch_samples = 10;

void add_calls(std::vector<Cell> &all, std::string_view suite, std::span<const std::size_t> sizes) {
    for (const unsigned calls : {block_of_calls, 1U}) {
        for (const std::size_t size : sizes) all.push_back({suite, size, calls, "", call_samples});
    }
}

} // namespace

std::string_view name_of(Kind kind) {
    switch (kind) {
    case Kind::subject: return "subject";
    case Kind::again: return "again";
    case Kind::control: return "control";
    case Kind::unchecked: return "unchecked";
    case Kind::general: return "general";
    case Kind::fixed_pool: return "fixed-pool";
    }
    return "";
}

bool competes(Kind kind) { return kind == Kind::subject || kind == Kind::general || kind == Kind::fixed_pool; }

std::span<const Backend> backends() { return all_backends; }

std::span<const std::string_view> suites() { return all_suites; }

std::vector<Cell> cells() {
    std::vector<Cell> all;
    add_calls(all, "hot", all_sizes);
    add_calls(all, "fifo", two_sizes);
    add_calls(all, "churn", two_sizes);
    add_calls(all, "mixed", mixed_sizes);
    for (const std::string_view order : {"lifo", "fifo", "random"})
        all.push_back({"order", 64, 0, order, phase_samples});
    for (const std::size_t size : all_sizes) all.push_back({"throughput", size, 0, "", batch_samples});
    return all;
}

const Backend *find_backend(std::string_view name) {
    const auto found = std::ranges::find(all_backends, name, &Backend::name);
    return found == all_backends.end() ? nullptr : &*found;
}

std::string grouped(std::uint64_t number) {
    std::string digits = std::to_string(number);
    for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, 1, ',');
    return digits;
}

std::string describe_size(std::size_t size) {
    if (size == 0) return "7 sizes";
    return size >= 1024 && size % 1024 == 0 ? fmt::format("{} KiB", size / 1024) : fmt::format("{} B", size);
}

std::string describe(const Cell &cell) {
    std::string text = fmt::format("{} {}", cell.suite, describe_size(cell.size));
    if (!cell.order.empty()) text += fmt::format(" {}", cell.order);
    if (cell.calls != 0) text += cell.calls == 1 ? ", single calls" : fmt::format(", blocks of {} calls", cell.calls);
    return text;
}

} // namespace flat::bench
