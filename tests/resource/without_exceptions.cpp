// Tests the C++ headers with -fno-exceptions and -fno-rtti. Requests that fit are served as usual. The others call the
// misuse handler and end the program with one line. There is no test framework, because those need exceptions.
#include <flatline/allocator.hpp>
#include <flatline/percore.hpp>
#include <flatline/resource.hpp>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <functional>
#include <list>
#include <map>
#include <memory_resource>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#if defined(__cpp_exceptions) || defined(__cpp_rtti)
#error "this is for builds without either"
#endif

namespace {

int failures = 0;

void expect(bool holds, const char *what) {
    if (holds) return;
    std::fprintf(stderr, "does not hold: %s\n", what);
    failures++;
}

// Runs `work` in a child. Returns its output on standard error and sets `signal` to the signal that ended it.
template <class Work> std::string last_words(Work work, int &signal) {
    int ends[2];
    if (pipe(ends) != 0) return "";
    const pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        work();
        _exit(0);
    }
    close(ends[1]);
    std::string said;
    char buffer[256];
    for (ssize_t got; (got = read(ends[0], buffer, sizeof buffer)) > 0;)
        said.append(buffer, static_cast<std::size_t>(got));
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    return said;
}

template <class Work> void expect_end(Work work, const std::string &wanted, const char *what) {
    int signal = 0;
    const std::string said = last_words(work, signal);
    expect(signal == SIGABRT, what);
    expect(said == wanted, what);
    if (said != wanted) std::fprintf(stderr, "  said:   %s  wanted: %s", said.c_str(), wanted.c_str());
}

void serves_what_fits() {
    const flat_class classes[] = {{64, 100}, {1024, 10}};
    flat_pool_options options{};
    options.classes = classes;
    options.class_count = 2;
    flat_pool *pool = nullptr;
    expect(flat_pool_create(&pool, &options, nullptr) == FLAT_OK, "a pool");
    {
        flat::pool_resource first(*pool);
        flat::inline_arena<4096> second;
        flat::chain_resource chain(&first, &second);
        flat::tracking_resource tracking(&chain);
        flat::limited_resource limited(100000, &tracking);
        flat::locked_resource locked(&limited);
        std::pmr::map<int, int> map(&locked);
        for (int i = 0; i < 120; i++) map[i] = i; // more blocks than the pool has: the arena serves the rest
        expect(map.at(119) == 119, "a map over a chain");
        expect(tracking.stats().live == 120, "120 blocks are live");
        std::list<int, flat::allocator<int, flat_pool>> list(pool);
        expect(list.empty(), "a list over a pool");
        expect(locked.try_allocate(1 << 20, 8) == nullptr, "errors as values need no exception");
        flat::pool_resource into_the_heap(*pool, std::pmr::new_delete_resource());
        void *large = into_the_heap.try_allocate(4096, 8);
        expect(large != nullptr, "an upstream that is not ours is asked as well");
        into_the_heap.deallocate(large, 4096, 8);
        expect(locked.try_deallocate(&map, 8, 8) == FLAT_FOREIGN_POINTER, "nor do refused frees");
    }
    expect(flat_pool_visit(pool, nullptr, nullptr) == 0, "every block is back");
    flat_pool_destroy(pool);
}

// Without RTTI a resource cannot recognise other resources of its set, only itself.
void serves_shards() {
    const flat_class classes[] = {{64, 100}, {1024, 10}};
    flat_percore_options options{};
    options.classes = classes;
    options.class_count = 2;
    options.shard_count = 2;
    flat_percore *set = nullptr;
    expect(flat_percore_create(&set, &options, nullptr) == FLAT_OK, "a set of shards");
    flat_pool *first = flat_percore_shard(set, 0), *second = flat_percore_shard(set, 1);
    {
        flat::percore_resource here(*first), there(*second);
        expect(here.is_equal(here) && !here.is_equal(there), "a shard's resource is equal to itself");
        void *block = here.allocate(64, 8);
        expect(there.try_deallocate(block, 64, 8) == FLAT_OK, "a block goes back through any resource of the set");
        expect(there.try_deallocate(block, 64, 8) == FLAT_DOUBLE_FREE, "and once");
        std::list<int, flat::percore_allocator<int>> mine(first), theirs({1, 2, 3}, second);
        mine = std::move(theirs);
        expect(mine.size() == 3, "a list takes another shard's nodes over");
    }
    expect(flat_pool_visit(first, nullptr, nullptr) + flat_pool_visit(second, nullptr, nullptr) == 0, "all are back");
    expect_end(
        [first] {
            std::vector<int, flat::percore_allocator<int>> numbers(first);
            numbers.reserve(257);
        },
        "flatline: percore_allocator: no memory for 1028 bytes at alignment 4\n", "no class that large");
    flat_percore_destroy(set);
}

void ends_when_nothing_is_left() {
    expect_end(
        [] {
            flat::inline_arena<64> arena;
            std::pmr::vector<int> numbers(&arena);
            numbers.reserve(17);
        },
        "flatline: inline_arena: no memory for 68 bytes at alignment 4\n", "an exhausted arena");
    expect_end([] { (void)flat::refusing_resource()->allocate(10, 2); },
               "flatline: refusing_resource: no memory for 10 bytes at alignment 2\n", "the refusing resource");
    expect_end(
        [] {
            flat::inline_arena<64> arena;
            std::vector<int, flat::allocator<int, flat::inline_arena<64>>> numbers(&arena);
            numbers.reserve(17);
        },
        "flatline: allocator: no memory for 68 bytes at alignment 4\n", "an exhausted allocator");
    expect_end(
        [] {
            flat::set_misuse_handler([](const flat::misuse &incident) {
                if (incident.status == FLAT_OUT_OF_MEMORY && incident.bytes == 10) std::fputs("handled\n", stderr);
            });
            (void)flat::refusing_resource()->allocate(10, 2);
        },
        "handled\nflatline: refusing_resource: no memory for 10 bytes at alignment 2\n", "a handler that returns");
}

} // namespace

int main() {
    serves_what_fits();
    serves_shards();
    ends_when_nothing_is_left();
    return failures == 0 ? 0 : 1;
}
