// Steps through calls of the library's functions, both random calls and calls that take the longest paths. Prints for
// each function the number of calls and the largest number of instructions in a call.
//
//     stepped_calls OFFSET BYTES NAME=OFFSET... [apart=OFFSET...]
//
// OFFSET and BYTES locate the library's code in its file, without the procedure linkage table; the other offsets locate
// functions, which need not be exported. The cost of those that are apart is stated apart. The last line names the
// file. Exit status 77: this system does not let a process trace its child.
#include "stepped_calls.hpp"
#include "stepper.hpp"

#include <flatline/arena.h>
#include <flatline/heap.h>
#include <flatline/percore.h>
#include <flatline/pool.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <sys/mman.h>

// Functions whose instructions are easy to count by hand. They check the stepper.
__asm__(R"(
        .text
exact_begin:
exact_line:                     # 4
        mov     $1, %eax
        add     $2, %eax
        nop
        ret
exact_loop:                     # 1 + 3 * 2 + 1
        mov     $3, %eax
1:      sub     $1, %eax
        jnz     1b
        ret
exact_call:                     # 4, and those of exact_line
        sub     $8, %rsp
        call    exact_line
        add     $8, %rsp
        ret
exact_call_outside:             # 4
        sub     $8, %rsp
        call    *%rdi
        add     $8, %rsp
        ret
exact_recursion:                # 4 each for 3, 2, 1 and 0
        sub     $1, %edi
        jc      2f
        call    exact_recursion
        ret
2:      nop
        ret
exact_end:
)");

extern "C" {
void exact_line();
void exact_loop();
void exact_call();
void exact_call_outside(void (*function)());
void exact_recursion(unsigned depth);
extern const char exact_begin[], exact_end[];
}

namespace {

using flat::test::CodeRange;
using flat::test::Watched;

using flat::test::any_size;
using flat::test::below;
using flat::test::require;
using flat::test::take_any;

void *map_lazily(std::size_t bytes) {
    void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    require(memory != MAP_FAILED, "no memory");
    return memory;
}

struct Counted : flat_pool_otherwise {
    unsigned allocs = 0, frees = 0;

    Counted()
        : flat_pool_otherwise{[](flat_pool_otherwise *self, std::size_t, std::size_t) -> void * {
                                  static_cast<Counted *>(self)->allocs++;
                                  return nullptr;
                              },
                              [](flat_pool_otherwise *self, void *, std::size_t, std::size_t, flat_status why) {
                                  static_cast<Counted *>(self)->frees++;
                                  return why;
                              }} {}
};

flat_pool *make_pool(const std::vector<flat_class> &classes) {
    const flat_pool_options options{classes.data(), classes.size()};
    flat_pool *pool = nullptr;
    require(flat_pool_create(&pool, &options, nullptr) == FLAT_OK, "no memory for a pool");
    return pool;
}

/// A pool and the calls that a program could make on it.
class PoolCalls {
  public:
    explicit PoolCalls(const std::vector<flat_class> &classes) : pool_(make_pool(classes)), classes_(classes) {}

    /// Exhausts every class, first with new and then with used blocks, and then makes calls that must be refused.
    void each_path() {
        for (const flat_class &each : classes_) {
            for (int round = 0; round < 2; round++) {
                for (std::size_t i = 0; i <= each.block_count; i++) alloc(each.block_size);
                refuse_around();
                while (!live_.empty()) free(live_.size() - 1);
            }
        }
        alloc(classes_.back().block_size + 1);
        alloc(SIZE_MAX);
    }

    void at_random(int steps) {
        for (int step = 0; step < steps; step++) {
            const std::size_t most = classes_.back().block_size;
            const std::size_t size = below(16) == 0 ? any_size() : below(most + 64);
            switch (below(8)) {
            case 0: keep(flat_pool_alloc_or_else(pool_, size, 16, &otherwise_)); break;
            case 1:
                keep(flat_pool_aligned_alloc(pool_, below(8) == 0 ? any_size() : std::size_t{1} << below(14), size));
                break;
            case 2: refuse_around(); break;
            case 3:
            case 4: alloc(size); break;
            default:
                if (!live_.empty()) free(below(live_.size()));
            }
        }
    }

  private:
    void keep(void *block) {
        if (block != nullptr) live_.push_back(static_cast<char *>(block));
    }

    void alloc(std::size_t size) { keep(flat_pool_alloc(pool_, size)); }

    void free(std::size_t which) {
        char *block = live_[which];
        live_[which] = live_.back();
        live_.pop_back();
        require(flat_pool_usable_size(pool_, block) > 0 && flat_pool_owns(pool_, block), "a live block is unknown");
        const bool plain = below(2) == 0;
        const flat_status done =
            plain ? flat_pool_free(pool_, block) : flat_pool_free_or_else(pool_, block, 1, 16, &otherwise_);
        require(done == FLAT_OK, "a live block was refused");
        refuse(block, FLAT_DOUBLE_FREE);
    }

    void refuse(char *block, flat_status why) {
        require(flat_pool_free(pool_, block) == why, "a refusal for another reason");
        const unsigned before = otherwise_.frees;
        require(flat_pool_free_or_else(pool_, block, 1, 16, &otherwise_) == why, "a refusal for another reason");
        require(otherwise_.frees == before + (why == FLAT_OK ? 0 : 1), "the other allocator was not asked once");
        require(flat_pool_usable_size(pool_, block) == 0, "no block, yet it has a size");
    }

    void refuse_around() {
        refuse(nullptr, FLAT_OK);
        refuse(reinterpret_cast<char *>(this), FLAT_FOREIGN_POINTER);
        if (live_.empty()) return;
        refuse(live_[below(live_.size())] + 1 + below(15), FLAT_INTERIOR_POINTER);
        (void)flat_pool_owns(pool_, reinterpret_cast<const char *>(any_size()));
    }

    flat_pool *pool_;
    std::vector<flat_class> classes_;
    std::vector<char *> live_;
    Counted otherwise_;
};

void call_pools() {
    PoolCalls one({{64, 8}});
    std::vector<flat_class> classes;
    for (std::size_t size = 256; size <= 64 * 256; size += 256) classes.push_back({size, 2});
    PoolCalls many(classes);
    PoolCalls small({{16, 4}, {48, 4}, {4096, 2}});
    flat::test::watch(true);
    for (PoolCalls *each : {&one, &many, &small}) {
        each->each_path();
        each->at_random(400);
    }
    flat::test::watch(false);
}

void call_arena() {
    alignas(16) static std::array<char, 4096> memory;
    flat_arena arena, other;
    flat::test::watch(true);
    require(flat_arena_init(&arena, {nullptr, 1}) == FLAT_INVALID_ARGUMENT, "an arena without memory");
    require(flat_arena_init(&arena, {memory.data(), SIZE_MAX}) == FLAT_INVALID_ARGUMENT, "an arena of all memory");
    require(flat_arena_init(&arena, {memory.data() + 1, 3}) == FLAT_OK, "no arena of 0 bytes");
    require(flat_arena_init(&other, {nullptr, 0}) == FLAT_OK, "no arena without memory");
    require(flat_arena_init(&arena, {memory.data() + 1, memory.size() - 1}) == FLAT_OK, "no arena");
    flat_arena_mark mark = flat_arena_get_mark(&arena);
    for (int step = 0; step < 300; step++) {
        const std::size_t size = below(8) == 0 ? any_size() : below(600);
        void *block = flat_arena_aligned_alloc(&arena, std::size_t{1} << below(8), size);
        flat_arena_stats stats;
        flat_arena_get_stats(&arena, &stats);
        if (block != nullptr) {
            take_any(flat_arena_resize(&arena, block, size, below(4) == 0 ? any_size() : below(1200)));
            take_any(flat_arena_resize(&arena, block, below(2000), below(1200)));
        }
        switch (below(8)) {
        case 0: mark = flat_arena_get_mark(&arena); break;
        case 1: take_any(flat_arena_rewind(&arena, mark)); break;
        case 2: take_any(flat_arena_rewind(&other, mark)); break;
        case 3: flat_arena_reset(&arena); break;
        default: break;
        }
    }
    flat::test::watch(false);
}

flat_percore *make_set(const std::vector<flat_class> &classes, std::size_t shards) {
    const flat_percore_options options{classes.data(), classes.size(), shards};
    flat_footprint need;
    require(flat_percore_footprint(&options, &need) == FLAT_OK, "no such set");
    flat_percore *set = nullptr;
    require(flat_percore_init(&set, &options, {map_lazily(need.metadata_bytes), need.metadata_bytes},
                              {map_lazily(need.block_bytes), need.block_bytes}) == FLAT_OK,
            "no set");
    return set;
}

/// A set of two shards and the calls that their owners and other threads could make on it.
class SetCalls {
  public:
    explicit SetCalls(const std::vector<flat_class> &classes) : set_(make_set(classes, 2)), classes_(classes) {}

    /// Frees only the last block of the last class: its mark goes up all levels of the tree, and alloc finds it in the
    /// last place that it searches.
    void longest_paths() {
        const std::size_t size = classes_.back().block_size;
        std::array<void *, 2> last = {};
        for (std::size_t i = 0; i < classes_.back().block_count; i++) {
            for (std::size_t shard = 0; shard < 2; shard++) last[shard] = flat_pool_alloc(shard_of(shard), size);
        }
        flat::test::watch(true);
        free_all(last[0], last[1]);
        for (void *&each : last) each = flat_percore_alloc(shard_of(&each == &last[1]), size);
        require(last[0] != nullptr && last[1] != nullptr, "a block was not found");
        free_all(last[0], last[1]);
        for (void *&each : last) each = flat_percore_aligned_alloc(shard_of(&each == &last[1]), 16, size);
        require(last[0] != nullptr && last[1] != nullptr, "a block was not found");
        require(flat_percore_alloc(shard_of(0), size) == nullptr, "a block too many");
        flat::test::watch(false);
    }

    void at_random(int steps) {
        flat::test::watch(true);
        for (int step = 0; step < steps; step++) {
            const std::size_t most = classes_.back().block_size;
            const std::size_t size = below(16) == 0 ? any_size() : below(most + 64);
            flat_pool *shard = shard_of(below(2));
            void *block = nullptr;
            switch (below(8)) {
            case 0:
                block = flat_percore_aligned_alloc(shard, below(8) == 0 ? 3 : std::size_t{1} << below(14), size);
                break;
            case 1:
            case 2:
            case 3: block = flat_percore_alloc(shard, size); break;
            case 4: refuse_around(shard); break;
            default:
                if (!live_.empty()) free(shard, below(live_.size()));
            }
            if (block != nullptr) live_.push_back(static_cast<char *>(block));
        }
        flat::test::watch(false);
    }

  private:
    flat_pool *shard_of(std::size_t number) { return flat_percore_shard(set_, number); }

    /// Frees one block of each shard.
    void free_all(void *first, void *second) {
        require(flat_percore_free(set_, first) == FLAT_OK, "a live block was refused");
        require(flat_percore_free_as(shard_of(0), second) == FLAT_OK, "a live block was refused");
    }

    void free(flat_pool *shard, std::size_t which) {
        char *block = live_[which];
        live_[which] = live_.back();
        live_.pop_back();
        const bool plain = below(2) == 0;
        require((plain ? flat_percore_free(set_, block) : flat_percore_free_as(shard, block)) == FLAT_OK,
                "a live block was refused");
        refuse(shard, block, FLAT_DOUBLE_FREE);
    }

    void refuse(flat_pool *shard, char *block, flat_status why) {
        require(flat_percore_free(set_, block) == why && flat_percore_free_as(shard, block) == why,
                "a refusal for another reason");
    }

    void refuse_around(flat_pool *shard) {
        refuse(shard, nullptr, FLAT_OK);
        refuse(shard, reinterpret_cast<char *>(this), FLAT_FOREIGN_POINTER);
        if (!live_.empty()) refuse(shard, live_[below(live_.size())] + 1 + below(15), FLAT_INTERIOR_POINTER);
    }

    flat_percore *set_;
    std::vector<flat_class> classes_;
    std::vector<char *> live_;
};

void call_sets() {
    // The smallest block size whose class is found by a search, and as many blocks as the largest tree holds.
    SetCalls large({{4112, FLAT_PERCORE_MAX_BLOCK_COUNT}}), one({{64, 8}}), many({{16, 40}, {256, 2000}, {8192, 4}});
    large.longest_paths();
    for (SetCalls *each : {&one, &many}) each->at_random(1500);
}

flat_heap *make_heap(std::size_t bytes) {
    flat_footprint need;
    require(flat_heap_footprint(bytes, &need) == FLAT_OK, "no such heap");
    flat_heap *heap = nullptr;
    require(flat_heap_init(&heap, {map_lazily(need.metadata_bytes), need.metadata_bytes},
                           {map_lazily(need.block_bytes), need.block_bytes}) == FLAT_OK,
            "no heap");
    return heap;
}

/// A heap and the calls that a program could make on it.
class HeapCalls {
  public:
    explicit HeapCalls(std::size_t bytes) : heap_(make_heap(bytes)), bytes_(bytes) {}

    /// Makes an alloc that splits the heap in every order, and frees that merge it again.
    void longest_paths() {
        give_back(alloc(32));
        merge_after([this](void *block) { give_back(block); });
        // The block shrinks by a move, and its old place merges.
        merge_after([this](void *block) {
            require(flat_heap_realloc(heap_, &block, 40) == FLAT_OK, "a block did not shrink");
            give_back(block);
        });
        // The block around a far interior pointer is searched for in every order.
        void *half = alloc(bytes_ / 2);
        require(flat_heap_free(heap_, static_cast<char *>(half) + bytes_ / 2 - 32) == FLAT_INTERIOR_POINTER,
                "a refusal for another reason");
        give_back(half);
        void *whole = alloc(bytes_); // needs the heap to be one piece again
        require(flat_heap_realloc(heap_, &whole, 40) == FLAT_OK, "a block did not shrink");
        give_back(whole);
    }

    void at_random(int steps) {
        for (int step = 0; step < steps; step++) {
            const std::size_t size = below(16) == 0 ? any_size() : below(3000) >> below(12);
            switch (below(8)) {
            case 0:
                keep(flat_heap_aligned_alloc(heap_, below(8) == 0 ? any_size() : std::size_t{1} << below(12), size));
                break;
            case 1:
            case 2: keep(flat_heap_alloc(heap_, size)); break;
            case 3:
                if (!live_.empty()) take_any(flat_heap_realloc(heap_, &live_[below(live_.size())], size));
                break;
            case 4: ask_around(); break;
            default:
                if (!live_.empty()) free(below(live_.size()));
            }
        }
    }

  private:
    void *alloc(std::size_t size) {
        void *block = flat_heap_alloc(heap_, size);
        require(block != nullptr, "the heap has no room");
        return block;
    }

    void give_back(void *block) { require(flat_heap_free(heap_, block) == FLAT_OK, "a live block was refused"); }

    /// Calls `end` on the only block of the upper half. Each buddy that the block merges with is not the first of its
    /// free list, which is the most expensive case.
    void merge_after(const std::function<void(void *)> &end) {
        void *slot = flat_heap_aligned_alloc(heap_, 64, 50);
        require(slot != nullptr, "the heap has no room");
        std::vector<void *> lower;
        for (std::size_t size = 512; size <= bytes_ / 4; size *= 2) lower.push_back(alloc(size));
        void *upper = alloc(128);
        for (void *each : lower) give_back(each);
        end(upper);
        give_back(slot);
    }

    void keep(void *block) {
        if (block != nullptr) live_.push_back(block);
    }

    void free(std::size_t which) {
        void *block = live_[which];
        live_[which] = live_.back();
        live_.pop_back();
        require(flat_heap_usable_size(heap_, block) > 0 && flat_heap_owns(heap_, block), "a live block is unknown");
        require(flat_heap_free(heap_, block) == FLAT_OK, "a live block was refused");
        require(flat_heap_free(heap_, block) != FLAT_OK, "a block was freed twice");
    }

    void ask_around() {
        flat_heap_stats stats;
        flat_heap_get_stats(heap_, &stats);
        void *none = nullptr;
        require(flat_heap_free(heap_, nullptr) == FLAT_OK && flat_heap_free(heap_, this) == FLAT_FOREIGN_POINTER &&
                    flat_heap_realloc(heap_, nullptr, 1) == FLAT_INVALID_ARGUMENT &&
                    flat_heap_realloc(heap_, &none, 10) == FLAT_OK,
                "a wrong answer");
        keep(none);
        void *inside = static_cast<char *>(live_.back()) + 1 + below(31);
        require(flat_heap_free(heap_, inside) == FLAT_INTERIOR_POINTER && flat_heap_usable_size(heap_, inside) == 0 &&
                    flat_heap_realloc(heap_, &inside, 10) == FLAT_INTERIOR_POINTER,
                "a refusal for another reason");
    }

    flat_heap *heap_;
    std::size_t bytes_;
    std::vector<void *> live_;
};

void call_heaps() {
    HeapCalls large(std::size_t{1} << 31), small(std::size_t{1} << 15);
    flat::test::watch(true);
    large.longest_paths();
    small.longest_paths();
    small.at_random(800);
    flat::test::watch(false);
}

void call_exact() {
    flat::test::watch(true);
    exact_line();
    exact_loop();
    exact_call();
    exact_call_outside([] { (void)any_size(); });
    exact_recursion(1);
    exact_recursion(3);
    flat::test::watch(false);
}

/// The library's load address and its file.
struct Library {
    std::uintptr_t base;
    const char *path;
};

Library find_library() {
    Dl_info found;
    require(dladdr(reinterpret_cast<const void *>(&flat_pool_create), &found) != 0, "the library is not there");
    return {reinterpret_cast<std::uintptr_t>(found.dli_fbase), found.dli_fname};
}

/// A function by NAME=OFFSET.
struct Place {
    std::string name;
    std::uintptr_t offset;
};

Place place_of(const char *text) {
    const char *equals = std::strchr(text, '=');
    require(equals != nullptr, "NAME=OFFSET is missing");
    return {std::string(text, equals), std::strtoull(equals + 1, nullptr, 0)};
}

std::vector<std::uintptr_t> what_is_apart(const Library &library, int names, char **name) {
    std::vector<std::uintptr_t> apart;
    for (int i = 0; i < names; i++) {
        const Place place = place_of(name[i]);
        if (place.name == "apart") apart.push_back(library.base + place.offset);
    }
    return apart;
}

std::vector<Watched> what_to_watch(const Library &library, int names, char **name) {
    std::vector<Watched> watched{{"exact_line", reinterpret_cast<const void *>(exact_line)},
                                 {"exact_loop", reinterpret_cast<const void *>(exact_loop)},
                                 {"exact_call", reinterpret_cast<const void *>(exact_call)},
                                 {"exact_call_outside", reinterpret_cast<const void *>(exact_call_outside)},
                                 {"exact_recursion", reinterpret_cast<const void *>(exact_recursion)}};
    for (int i = 0; i < names; i++) {
        const Place place = place_of(name[i]);
        if (place.name != "apart")
            watched.push_back({place.name, reinterpret_cast<const void *>(library.base + place.offset)});
    }
    return watched;
}

} // namespace

int main(int argc, char **argv) {
    require(argc >= 3, "usage: stepped_calls OFFSET BYTES NAME=OFFSET...");
    const Library library = find_library();
    const std::uintptr_t code = library.base + std::strtoull(argv[1], nullptr, 0);
    const std::vector<CodeRange> ranges{
        {code, code + std::strtoull(argv[2], nullptr, 0)},
        {reinterpret_cast<std::uintptr_t>(exact_begin), reinterpret_cast<std::uintptr_t>(exact_end)}};
    std::vector<Watched> watched = what_to_watch(library, argc - 3, argv + 3);
    try {
        const auto calls = [] {
            call_exact();
            call_pools();
            call_arena();
            call_heaps();
            call_sets();
            flat::test::call_engines();
        };
        flat::test::step_through(watched, ranges, calls, what_is_apart(library, argc - 3, argv + 3));
    } catch (const flat::test::CannotTrace &why) {
        std::fprintf(stderr, "%s\n", why.what());
        return 77;
    } catch (const std::exception &why) {
        std::fprintf(stderr, "%s\n", why.what());
        return 1;
    }
    for (const Watched &each : watched) {
        std::printf("%s %llu %llu\n", each.name.c_str(), static_cast<unsigned long long>(each.calls),
                    static_cast<unsigned long long>(each.most));
    }
    std::printf("%s\n", library.path);
    return 0;
}
