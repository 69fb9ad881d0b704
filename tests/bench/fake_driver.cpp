// A driver that measures nothing. It follows the protocol of driver/print.c with made-up samples. The file beside it,
// <its own path>.fault, selects a fault:
//
//   null         ends with status 3, like a driver whose allocator returned NULL
//   crash        dies of SIGSEGV
//   slow         sleeps for a minute
//   short, long  one sample too few, one too many
//   garbage      prints a line that is not JSON
//   unoptimised, assertions, sanitizer, timer, unpinned, clock   the header reports this state
//   library PATH reports that PATH served the calls
//   faster N     divides the made-up samples by N
//
// Each run appends a line with its name, arguments and environment to the file "calls" in its directory.
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <unistd.h>

namespace {

std::string word_in(const std::string &file) {
    std::ifstream in(file);
    std::string line;
    std::getline(in, line);
    return line;
}

void log_call(const std::filesystem::path &self, int argc, char **argv) {
    std::ofstream out(self.parent_path() / "calls", std::ios::app);
    out << self.filename().string();
    for (int i = 1; i < argc; ++i) out << ' ' << argv[i];
    for (char **variable = environ; *variable != nullptr; ++variable) out << ' ' << *variable;
    out << '\n';
}

/// A series in JSON.
std::string series_of(const char *operation, const char *unit, const std::string &calls, std::size_t samples) {
    return std::string("{\"operation\":\"") + operation + "\",\"unit\":\"" + unit +
           "\",\"ranked\":true,\"calls\":" + calls + ",\"samples\":" + std::to_string(samples) + "}";
}

const char *text_of(bool value) { return value ? "true" : "false"; }

/// Multiples of 26, as from a counter that advances in steps of 26, with some outliers.
std::uint64_t made_up(std::size_t i, std::uint64_t seed) {
    return 26 * (10 + (i * 7 + seed) % 5 + (i % 500 == 0 ? 400 : 0));
}

} // namespace

int main(int argc, char **argv) {
    const std::string self = argv[0];
    const std::string fault = word_in(self + ".fault");
    if (argc != 9) return 2;
    log_call(self, argc, argv);
    if (fault == "null") {
        std::fprintf(stderr, "fake: an allocation of the workload returned NULL\nand a second line\n");
        return 3;
    }
    if (fault == "crash") std::raise(SIGSEGV);
    if (fault == "slow") sleep(60);
    if (fault == "garbage") {
        std::printf("Segmentation fault (core dumped)\n");
        return 0;
    }
    const std::string calls = argv[3];
    const std::string suite = argv[1];
    const bool rounds = suite == "containers", threads = suite == "threads" || suite == "pipeline",
               tasks = suite == "engine";
    const bool pair = calls == "32" || suite == "throughput" || tasks;
    const std::string count = calls != "0" ? calls : pair ? "100000" : "200000";
    const std::size_t samples = std::strtoul(argv[5], nullptr, 10);
    const std::uint64_t seed = std::strtoull(argv[6], nullptr, 10);
    const std::string library = fault.starts_with("library ") ? fault.substr(8) : self;
    std::string series = series_of(rounds  ? "round"
                                   : tasks ? "task"
                                   : pair  ? "pair"
                                           : "alloc",
                                   "ticks", count, samples);
    if (rounds)
        series += "," + series_of("heap calls", "heap calls", "1", 1) + "," + series_of("held", "held bytes", "1", 1);
    else if (!pair)
        series += "," + series_of("free", "ticks", count, samples);
    if (threads) series += "," + series_of("peak", "peak bytes", "1", 1);
    if (tasks) series += "," + series_of("offered", "count", "1", 1);
    std::printf("{\"protocol\":1,\"driver\":\"fake\",\"library\":\"%s\",\"version\":\"1.2.3\",\"compiler\":\"gcc 12\","
                "\"flags\":\"-O2\",\"optimized\":%s,\"assertions\":%s,\"sanitizer\":%s,\"timer\":\"rdtsc\","
                "\"ticks_per_ns\":%s,\"timer_cost_ns\":20,\"timer_invariant\":%s,\"pinned\":%s,\"own_code\":true,"
                "\"page_faults\":1,"
                "\"page_faults_setup\":2,\"context_switches\":3,\"resident_kib\":1000,\"operations\":0,"
                "\"counters\":{\"instructions\":null,\"branch_misses\":null,\"cache_misses\":null,\"tlb_misses\":null},"
                "\"series\":[%s]}\n",
                library.c_str(), text_of(fault != "unoptimised"), text_of(fault == "assertions"),
                text_of(fault == "sanitizer"), fault == "clock" ? "5" : "2.6", text_of(fault != "timer"),
                text_of(fault != "unpinned"), series.c_str());
    std::size_t total = rounds ? samples + 2 : samples * (pair ? 1 : 2) + (threads || tasks ? 1 : 0);
    total += fault == "long" ? 1U : 0U;
    total -= fault == "short" ? 1U : 0U;
    const std::uint64_t part = fault.starts_with("faster ") ? std::stoul(fault.substr(7)) : 1;
    for (std::size_t i = 0; i < total; ++i) {
        const std::uint64_t ticks = made_up(i, seed) / part;
        std::fwrite(&ticks, sizeof ticks, 1, stdout);
    }
    return 0;
}
