#include "catalogue.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

namespace flat::bench {
namespace {

constexpr std::string_view part_of_flatline = "build Flatline again, which includes it";
constexpr std::string_view from_its_source =
    "run scripts/bootstrap bench to install cargo, then build Flatline again with network access";

constexpr Abilities in_containers = containers | plain_arrays;
constexpr Abilities everything =
    declared_sizes | any_size | several_threads | remote_free | in_containers | whole_process;

/// A row of suite containers, which is always part of Flatline's own build.
constexpr Backend container_row(std::string_view name, std::string_view title, std::string_view column, Kind kind,
                                std::string_view driver, std::string_view beside, std::string_view library = "") {
    return {name, title, column, kind, driver, "", "", library, part_of_flatline, in_containers, beside};
}

/// A queue of suite engine. One that is not part of Flatline's own build says how to get its package.
constexpr Backend queue_row(std::string_view name, std::string_view title, std::string_view column, Kind kind,
                            std::string_view driver, Abilities abilities, std::string_view beside = "",
                            std::string_view how = part_of_flatline, std::string_view library = "") {
    return {name, title, column, kind, driver, "", "", library, how, abilities, beside};
}

/// Flatline's malloc under one of its policies.
constexpr Backend malloc_row(std::string_view name, std::string_view title, std::string_view column,
                             std::string_view settings, bool in_quick) {
    return {.name = name,
            .title = title,
            .column = column,
            .kind = Kind::drop_in,
            .driver = "malloc",
            .peer = "",
            .preload = "",
            .library = "libflatline-malloc.so",
            .how = part_of_flatline,
            .abilities = everything,
            .own = "libflatline-malloc.so",
            .settings = settings,
            .in_quick = in_quick};
}

/// The A/A copy for the suite in which no pool takes part. In all others the pool's copies measure the noise.
constexpr Backend malloc_copy = {.name = "flatline-malloc-again",
                                 .title = "malloc, copy",
                                 .column = "malc2",
                                 .kind = Kind::again,
                                 .driver = "malloc",
                                 .peer = "",
                                 .preload = "",
                                 .library = "libflatline-malloc.so",
                                 .how = part_of_flatline,
                                 .abilities = whole_process,
                                 .beside = "flatline-malloc",
                                 .own = "libflatline-malloc.so"};

constexpr std::array all_backends{
    Backend{"flatline-pool", "Flatline pool", "pool", Kind::subject, "pool", "", "", "", part_of_flatline,
            declared_sizes | any_size | several_threads},
    Backend{"flatline-pool-again", "Flatline pool, again", "again", Kind::again, "pool", "", "", "", part_of_flatline,
            declared_sizes | any_size | several_threads, "flatline-pool"},
    Backend{"flatline-percore", "Flatline per core", "core", Kind::subject, "percore", "", "", "", part_of_flatline,
            several_threads | remote_free, "flatline-pool"},
    Backend{"flatline-percore-again", "per core, copy", "core2", Kind::again, "percore", "", "", "", part_of_flatline,
            several_threads | remote_free, "flatline-percore"},
    Backend{"flatline-heap", "Flatline heap", "heap", Kind::fixed_pool, "heap", "", "", "", part_of_flatline, any_size},
    Backend{"floor", "floor", "floor", Kind::control, "floor", "", "", "", part_of_flatline,
            declared_sizes | any_size | several_threads | remote_free | plain_arrays | whole_process},
    Backend{"list", "list (unchecked)", "list", Kind::unchecked, "list", "", "", "", part_of_flatline,
            declared_sizes | several_threads},
    malloc_row("flatline-malloc", "Flatline malloc", "malloc", "", true),
    malloc_copy,
    malloc_row("flatline-malloc-latency", "malloc, latency", "m.lat", "FLATLINE_POLICY=latency", false),
    malloc_row("flatline-malloc-memory", "malloc, memory", "m.mem", "FLATLINE_POLICY=memory", false),
    Backend{"glibc", "glibc", "glibc", Kind::general, "malloc", "", "", "libc.so", part_of_flatline, everything},
    Backend{"glibc-tuned", "glibc, tuned", "tuned", Kind::general, "glibc-tuned", "", "", "libc.so", part_of_flatline,
            everything},
    Backend{"jemalloc", "jemalloc", "je", Kind::general, "malloc", "jemalloc", "libjemalloc.so.2", "libjemalloc.so",
            "apt-get install libjemalloc2", everything},
    Backend{"tcmalloc", "tcmalloc", "tc", Kind::general, "malloc", "", "libtcmalloc_minimal.so.4",
            "libtcmalloc_minimal.so", "apt-get install libtcmalloc-minimal4", everything},
    Backend{"mimalloc", "mimalloc", "mi", Kind::general, "malloc", "mimalloc", "libmimalloc.so.2", "libmimalloc.so",
            "apt-get install libmimalloc2.0", everything},
    Backend{"snmalloc", "snmalloc", "sn", Kind::general, "malloc", "snmalloc", "", "libsnmalloc.so", from_its_source,
            everything},
    Backend{"rpmalloc", "rpmalloc", "rp", Kind::general, "malloc", "rpmalloc", "", "librpmalloc.so", from_its_source,
            everything},
    Backend{"hardened-malloc", "hardened_malloc", "hard", Kind::general, "malloc", "hardened_malloc", "",
            "libhardened_malloc.so", from_its_source, everything},
    Backend{"tbb", "oneTBB", "tbb", Kind::general, "malloc", "", "libtbbmalloc_proxy.so.2", "libtbbmalloc_proxy.so",
            "apt-get install libtbbmalloc2", everything},
    Backend{"boost-pool", "Boost.Pool", "boost", Kind::fixed_pool, "boost-pool", "", "", "",
            "apt-get install libboost1.74-dev, then build Flatline again", declared_sizes | several_threads},
    Backend{"foonathan-pool", "foonathan/memory", "foona", Kind::fixed_pool, "foonathan-pool", "", "", "",
            "apt-get install libfoonathan-memory-dev, then build Flatline again", declared_sizes | several_threads},
    Backend{"o1heap", "o1heap", "o1heap", Kind::fixed_pool, "o1heap", "o1heap", "", "libo1heap.so", from_its_source,
            any_size},
    container_row("arena-resource", "arena_resource", "arena", Kind::subject, "arena-resource", "std-monotonic"),
    container_row("arena-resource-again", "arena_resource, copy", "arena2", Kind::again, "arena-resource",
                  "arena-resource"),
    container_row("pool-resource", "pool_resource", "pool", Kind::subject, "pool-resource", "std-pool"),
    container_row("pool-resource-again", "pool_resource, copy", "pool2", Kind::again, "pool-resource", "pool-resource"),
    container_row("heap-resource", "heap_resource", "heap", Kind::subject, "heap-resource", ""),
    container_row("inline-arena", "inline_arena", "inline", Kind::subject, "inline-arena", "floor"),
    container_row("allocator-arena", "allocator, arena", "a.aren", Kind::subject, "allocator-arena", "arena-resource"),
    container_row("allocator-pool", "allocator, pool", "a.pool", Kind::subject, "allocator-pool", "pool-resource"),
    container_row("allocator-heap", "allocator, heap", "a.heap", Kind::subject, "allocator-heap", "heap-resource"),
    container_row("allocator-inline", "allocator, inline", "a.inl", Kind::subject, "allocator-inline", "inline-arena"),
    container_row("std-monotonic", "std::pmr monotonic", "pmr.mo", Kind::standard, "std-monotonic", "", "libstdc++.so"),
    container_row("std-pool", "std::pmr pool", "pmr.po", Kind::standard, "std-pool", "", "libstdc++.so"),
    queue_row("engine", "Flatline engine", "engine", Kind::subject, "engine-flatline",
              busy_tasks | sleeping_tasks | bounded_tasks),
    queue_row("engine-again", "engine, copy", "eng2", Kind::again, "engine-flatline", busy_tasks | sleeping_tasks,
              "engine"),
    queue_row("engine-grant", "engine, by grant", "grant", Kind::subject, "engine-flatline-grant",
              busy_tasks | sleeping_tasks | bounded_tasks, "engine"),
    queue_row("remote-free", "remote free", "remote", Kind::alternative, "engine-remote-free", busy_tasks, "engine"),
    queue_row("ring", "bare ring", "ring", Kind::control, "engine-ring", busy_tasks),
    queue_row("futex", "bare futex", "futex", Kind::control, "engine-futex", sleeping_tasks),
    queue_row("mutex-queue", "mutex queue", "mutex", Kind::general, "engine-mutex", busy_tasks | sleeping_tasks),
    queue_row("concurrentqueue", "ConcurrentQueue", "conc", Kind::general, "engine-concurrentqueue",
              busy_tasks | sleeping_tasks, "", "apt-get install libconcurrentqueue-dev, then build Flatline again"),
    queue_row("tbb-arena", "oneTBB task_arena", "arena", Kind::general, "engine-tbb", busy_tasks | sleeping_tasks, "",
              "apt-get install libtbb-dev, then build Flatline again", "libtbb.so"),
    queue_row("readerwriterqueue", "ReaderWriterQueue", "rwq", Kind::one_to_one, "engine-readerwriterqueue",
              busy_tasks | sleeping_tasks, "", "apt-get install libreaderwriterqueue-dev, then build Flatline again"),
    queue_row("boost-spsc", "boost spsc_queue", "spsc", Kind::one_to_one, "engine-boost-spsc", busy_tasks, "",
              "apt-get install libboost1.74-dev, then build Flatline again"),
};

constexpr std::array all_suites{
    Suite{"hot", "one block is allocated and freed, again and again", Unit::ns, true, 0.05},
    Suite{"fifo", "the oldest of 2,000 live blocks is replaced", Unit::ns, true, 0.06},
    Suite{"churn", "a random one of 200,000 live blocks is replaced", Unit::ns, true, 0.2},
    Suite{"mixed", "like churn, with seven sizes, 100,000 live", Unit::ns, true, 0.1, "7 sizes"},
    Suite{"order", "200,000 blocks, freed newest first, oldest first or at random", Unit::ns, true, 0.15},
    Suite{"throughput", "batches of 100,000 with no clock inside", Unit::mops, true, 0.2},
    Suite{"drift", "churn for 64 million calls: does it get worse", Unit::ns, false, 10, "", true},
    Suite{"startup", "creation and first fill of a million blocks, cold and prefaulted", Unit::ns, false, 0.1},
    Suite{"memory", "resident bytes for each live block", Unit::bytes, false, 0.2},
    Suite{"anysize", "sizes from 16 B to 8 KiB, 20,000 live, uniform and Pareto", Unit::ns, false, 0.6, "any size"},
    Suite{"new-delete", "a million ints by new and delete, beside a loop and a bump allocator", Unit::ns, false, 0.1},
    Suite{"threads", "several threads: on their own, handing blocks on, many to one", Unit::mops, false, 0.25},
    Suite{"pipeline", "messages that one thread allocates, and another reads and frees", Unit::mops, false, 0.1,
          "7 sizes"},
    Suite{"arrivals", "requests due at random times, timed from when they were due", Unit::ns, false, 0.25, "7 sizes",
          false, true},
    Suite{"stalls", "calls while other threads end, trim or free memory; under mlockall", Unit::ns, false, 2},
    Suite{"containers", "the standard containers over each memory resource, a round at a time", Unit::ns, false, 0.15,
          "", false, false, true},
    Suite{"engine", "tasks that one thread submits and another runs, beside other queues", Unit::ns, false, 1, "",
          false, true, false, true},
};

constexpr std::array<std::size_t, 5> all_sizes{16, 64, 256, 1024, 4096};
constexpr std::array<std::size_t, 2> two_sizes{64, 1024};
constexpr std::array<std::size_t, 1> mixed_sizes{0};

constexpr unsigned block_of_calls = 32;

/// With four processes a cell has 100,000 samples, the least for which P99.99 is reported. With the usual six, all
/// cells of all backends take three to four minutes.
constexpr std::size_t call_samples = 25000;
/// A phase is 200,000 calls and a batch 100,000, so their means need few samples.
constexpr std::size_t phase_samples = 8;
constexpr std::size_t batch_samples = 6;
/// Each new batch of large blocks costs some allocators a page fault for each block: half a second for 100,000 of them.
constexpr std::size_t throughput_samples = 3;

void add_calls(std::vector<Cell> &all, std::string_view suite, std::span<const std::size_t> sizes) {
    for (const unsigned calls : {block_of_calls, 1U}) {
        for (const std::size_t size : sizes) all.push_back({suite, size, calls, "", call_samples});
    }
}

void add_quick(std::vector<Cell> &all) {
    add_calls(all, "hot", all_sizes);
    add_calls(all, "fifo", two_sizes);
    add_calls(all, "churn", two_sizes);
    add_calls(all, "mixed", mixed_sizes);
    for (const std::string_view order : {"lifo", "fifo", "random"})
        all.push_back({"order", 64, 0, order, phase_samples});
    for (const std::size_t size : all_sizes) all.push_back({"throughput", size, 0, "", throughput_samples});
}

/// 64 million calls in all, as the article ran.
constexpr std::size_t windows = 100;
constexpr std::size_t calls_in_window = 640'000;

constexpr std::size_t million = 1'000'000;

/// Enough blocks for metadata and whole pages to weigh as they do in a large program. 256 MiB limit the requested
/// bytes.
constexpr std::size_t live_blocks(std::size_t size) { return std::min(million / 4, (std::size_t{256} << 20) / size); }

void add_lifetimes(std::vector<Cell> &all) {
    all.push_back({"drift", 64, 0, "", windows, calls_in_window});
    for (const std::string_view order : {"cold", "prefaulted"}) all.push_back({"startup", 64, 0, order, 1, million});
    for (const std::size_t size : all_sizes) all.push_back({"memory", size, 0, "", 1, live_blocks(size)});
}

/// 100 million operations: two for each of the 500,000 pairs in each of 100 batches.
constexpr std::size_t pareto_batches = 100;
constexpr std::size_t pareto_pairs = 500'000;

void add_anysize(std::vector<Cell> &all) {
    for (const unsigned calls : {block_of_calls, 1U})
        all.push_back({"anysize", 0, calls, "uniform", call_samples, 0, 0, any_size});
    all.push_back({"anysize", 0, 0, "pareto", pareto_batches, pareto_pairs, 0, any_size});
}

/// Also more threads than processors, as programs have them.
constexpr std::array usual_threads{2U, 4U, 8U};
constexpr std::array usual_pipeline{2U};

/// Batches and single calls. With two threads, each of which has a processor, also calls of one kind together.
void add_several(std::vector<Cell> &all, std::string_view suite, std::size_t size, std::string_view order,
                 Abilities needs, unsigned threads) {
    const auto add = [&](unsigned calls, std::size_t samples) {
        all.push_back({suite, size, calls, order, samples, 0, 0, several_threads | needs, threads});
    };
    add(0, batch_samples);
    add(1, call_samples);
    if (threads == 2) add(calls_together, call_samples);
}

/// With two threads many-to-one is producer-consumer.
void add_threads(std::vector<Cell> &all, std::span<const unsigned> counts) {
    for (const unsigned threads : counts) {
        add_several(all, "threads", 64, "independent", 0, threads);
        if (threads % 2 == 0) add_several(all, "threads", 64, "producer-consumer", remote_free, threads);
        add_several(all, "threads", 64, "larson", remote_free, threads);
        if (threads > 2) add_several(all, "threads", 64, "many-to-one", remote_free, threads);
    }
}

void add_pipeline(std::vector<Cell> &all, std::span<const unsigned> counts) {
    for (const unsigned threads : counts) {
        if (threads % 2 == 0) add_several(all, "pipeline", 0, "", remote_free, threads);
    }
}

/// A sample of the capacity is long enough to include the interruptions that a schedule will meet.
constexpr std::size_t requests_in_sample = 2'000;
constexpr std::size_t capacity_samples = 50;
constexpr std::size_t requests = 100'000;

void add_arrivals(std::vector<Cell> &all) {
    all.push_back({"arrivals", 0, 0, "closed", capacity_samples, requests_in_sample});
    for (const auto &[order, percent] : {std::pair{"poisson-50", 50U}, {"poisson-80", 80U}, {"poisson-95", 95U}})
        all.push_back({"arrivals", 0, 1, order, requests, 0, percent});
}

/// Each of two threads has half of them, and one thread is watched: 50,000 pairs, one every 10 µs.
constexpr std::size_t watched_samples = 100'000;
/// 200 MiB of blocks, which contain each of a malloc's steps of growth many times.
constexpr std::size_t locked_samples = 200'000;

void add_stalls(std::vector<Cell> &all) {
    for (const std::size_t size : {std::size_t{64}, std::size_t{2} << 20}) {
        for (const std::string_view order : {"quiet", "end", "trim", "huge"})
            all.push_back({"stalls", size, 1, order, watched_samples, 0, 0, whole_process, 2});
    }
    all.push_back({"stalls", 1024, 1, "locked", locked_samples, 0, 0, whole_process});
    for (const std::string_view order : {"unmarked", "marked"})
        all.push_back({"stalls", 64, block_of_calls, order, call_samples, 0, 0, whole_process});
}

/// With the usual six processes a cell has 30,000 samples, thirty of them above P99.9. The suite takes three to four
/// minutes.
constexpr std::size_t round_samples = 5'000;
/// Samples of 32 rounds each: for the body of the distribution.
constexpr std::size_t block_samples = 400;

struct ContainerWork {
    std::string_view name;
    bool in_arrays; // has a floor
    bool is_short;  // takes a few steps of the clock, so that the body needs blocks
};

constexpr std::array workloads{
    ContainerWork{"vector", true, false},       ContainerWork{"vector-reserve", true, false},
    ContainerWork{"strings-short", true, true}, ContainerWork{"strings-long", true, true},
    ContainerWork{"concatenation", true, true}, ContainerWork{"map-int", false, false},
    ContainerWork{"map-string", false, false},  ContainerWork{"unordered-map", false, false},
    ContainerWork{"list", true, false},         ContainerWork{"deque", true, false},
    ContainerWork{"sensors", false, false},     ContainerWork{"messages", true, false},
    ContainerWork{"trades", true, true},        ContainerWork{"new-delete", true, true},
};

void add_containers(std::vector<Cell> &all) {
    for (const ContainerWork &work : workloads) {
        const Abilities needs = work.in_arrays ? plain_arrays : containers;
        all.push_back({"containers", 0, 1, work.name, round_samples, 0, 0, needs});
        if (work.is_short) all.push_back({"containers", 0, block_of_calls, work.name, block_samples, 0, 0, needs});
    }
}

/// Interruptions of over 1 µs meet one to six of a thousand tasks, and so decide their P99.9. It takes half a second to
/// meet as many as make it differ little from process to process.
constexpr std::size_t busy_samples = 250'000, answered_samples = 25'000;
/// A sleeping consumer is left alone for 150 µs before each task.
constexpr std::size_t sleeping_samples = 2'500;
constexpr std::size_t saturated_batches = 6;
constexpr std::size_t tasks_in_sample = 2'000;
/// Of an overload so many are kept in each process, of some millions.
constexpr std::size_t overload_samples = 200'000;

void add_engine(std::vector<Cell> &all) {
    const auto add = [&](std::size_t size, unsigned calls, std::string_view order, std::size_t samples,
                         Abilities needs) {
        all.push_back({"engine", size, calls, order, samples, 0, 0, needs});
        all.back().is_long = std::ranges::find(two_sizes, size) == two_sizes.end();
    };
    for (const std::size_t size : all_sizes) add(size, 1, "busy", busy_samples, busy_tasks);
    for (const std::size_t size : all_sizes) add(size, 1, "busy-answer", answered_samples, busy_tasks);
    for (const std::size_t size : all_sizes) add(size, 1, "sleeping", sleeping_samples, sleeping_tasks);
    for (const std::size_t size : two_sizes) add(size, 1, "sleeping-answer", sleeping_samples, sleeping_tasks);
    for (const std::size_t size : all_sizes) add(size, 0, "saturated", saturated_batches, busy_tasks);
    all.push_back({"engine", overload_bytes, 0, "closed", capacity_samples, tasks_in_sample, 0, busy_tasks});
    for (const auto &[order, percent] : {std::pair{"poisson-50", 50U}, {"poisson-80", 80U}, {"poisson-95", 95U}})
        all.push_back({"engine", overload_bytes, 1, order, requests, 0, percent, busy_tasks});
    add(overload_bytes, 1, "overload", overload_samples, busy_tasks);
    add(overload_bytes, 1, "overload-minute", overload_samples, bounded_tasks);
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
    case Kind::standard: return "standard";
    case Kind::drop_in: return "drop-in";
    case Kind::one_to_one: return "one-to-one";
    case Kind::alternative: return "alternative";
    }
    return "";
}

std::string_view name_of(Unit unit) {
    switch (unit) {
    case Unit::ns: return "ns";
    case Unit::mops: return "Mops/s";
    case Unit::bytes: return "bytes";
    case Unit::tasks: return "Mtasks/s";
    }
    return "";
}

bool competes(Kind kind) {
    return kind == Kind::subject || kind == Kind::general || kind == Kind::fixed_pool || kind == Kind::standard ||
           kind == Kind::drop_in || kind == Kind::one_to_one;
}

bool is_ours(Kind kind) { return kind == Kind::subject || kind == Kind::drop_in; }

std::span<const Backend> backends() { return all_backends; }

std::span<const Suite> suites() { return all_suites; }

std::vector<Cell> cells(Mode mode, std::span<const unsigned> threads) {
    std::vector<unsigned> asked(threads.begin(), threads.end());
    std::ranges::sort(asked);
    asked.erase(std::unique(asked.begin(), asked.end()), asked.end());
    std::vector<Cell> all;
    add_quick(all);
    if (mode == Mode::quick) return all;
    add_lifetimes(all);
    add_anysize(all);
    all.push_back({"new-delete", sizeof(int), 0, "", batch_samples, million});
    add_threads(all, asked.empty() ? std::span<const unsigned>(usual_threads) : asked);
    add_pipeline(all, asked.empty() ? std::span<const unsigned>(usual_pipeline) : asked);
    add_arrivals(all);
    add_stalls(all);
    add_containers(all);
    add_engine(all);
    return all;
}

const Backend *find_backend(std::string_view name) {
    const auto found = std::ranges::find(all_backends, name, &Backend::name);
    return found == all_backends.end() ? nullptr : &*found;
}

const Suite *find_suite(std::string_view name) {
    const auto found = std::ranges::find(all_suites, name, &Suite::name);
    return found == all_suites.end() ? nullptr : &*found;
}

const Suite &suite_of(const Cell &cell) {
    const Suite *found = find_suite(cell.suite);
    if (found == nullptr) throw std::logic_error(fmt::format("there is no suite {}", cell.suite));
    return *found;
}

bool runs_containers(const Backend &backend) { return (backend.abilities & in_containers) != 0; }

bool runs_calls(const Backend &backend) { return (backend.abilities & ~in_containers) != 0; }

bool is_queue(const Backend &backend) { return (backend.abilities & (busy_tasks | sleeping_tasks)) != 0; }

bool is_capacity(const Cell &cell) { return suite_of(cell).has_capacity && cell.order == "closed"; }

bool is_overload(const Cell &cell) { return cell.order.starts_with("overload"); }

bool takes_part(const Backend &backend, const Cell &cell) { return (cell.needs & ~backend.abilities) == 0; }

std::string grouped(std::uint64_t number) {
    std::string digits = std::to_string(number);
    for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, 1, ',');
    return digits;
}

std::string describe_size(std::string_view suite, std::size_t size) {
    const Suite *mixing = size == 0 ? find_suite(suite) : nullptr;
    if (mixing != nullptr) return std::string(mixing->sizes);
    return size >= 1024 && size % 1024 == 0 ? fmt::format("{} KiB", size / 1024) : fmt::format("{} B", size);
}

std::string describe(const Cell &cell) {
    std::string text(cell.suite);
    for (const std::string &part : {describe_size(cell.suite, cell.size), std::string(cell.order)}) {
        if (!part.empty()) text += " " + part;
    }
    const char *samples = suite_of(cell).has_rounds ? "rounds" : suite_of(cell).has_tasks ? "tasks" : "calls";
    if (cell.calls == 1) text += fmt::format(", single {}", samples);
    if (cell.calls > 1) text += fmt::format(", blocks of {} {}", cell.calls, samples);
    if (cell.threads > 1) text += fmt::format(", {} threads", cell.threads);
    return text;
}

} // namespace flat::bench
