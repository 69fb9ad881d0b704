#include "invariants.hpp"

extern "C" {
#include "heaps.h"
#include "large.h"
#include "returned.h"
#include "spans.h"
#include "states.h"
}

#include <algorithm>
#include <cstdint>
#include <memory_resource>
#include <set>
#include <sstream>
#include <sys/mman.h>
#include <vector>

namespace test {
namespace {

// The walk keeps its notes in memory of its own, or it would change what it looks at.
class notes {
  public:
    notes()
        : buffer_(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {}
    ~notes() { (void)munmap(buffer_, bytes); }
    notes(const notes &) = delete;
    notes &operator=(const notes &) = delete;

    std::pmr::memory_resource *resource() { return &resource_; }

  private:
    static constexpr std::size_t bytes = std::size_t{1} << 30;
    void *buffer_;
    std::pmr::monotonic_buffer_resource resource_{buffer_, bytes, std::pmr::null_memory_resource()};
};

using addresses = std::pmr::set<const void *>;
using numbers = std::pmr::set<std::uint32_t>;

// Finds the first thing that is wrong, and stops there.
class walk {
  public:
    explicit walk(std::pmr::memory_resource *where) : where_(where), free_(where) {}

    std::pmr::memory_resource *where() const { return where_; }
    std::string found() const { return found_; }
    bool holds() const { return found_.empty(); }

    template <typename... Parts> void demand(bool condition, const Parts &...parts) {
        if (condition || !holds()) return;
        std::ostringstream text;
        ((text << parts << ' '), ...);
        found_ = text.str();
    }

    // Checks the runs of a set between two units: no two free ones are neighbours. Calls `used` for each other run.
    template <typename Used> void units_of(const run_set &runs, std::uint32_t first, std::uint32_t end, Used used) {
        bool after_a_free_one = false;
        for (std::uint32_t at = first; at < end && holds();) {
            const unit &head = *flat_run(&runs, at);
            demand(head.count != 0 && head.count <= end - at, "unit", at, "is of", head.count);
            if (!holds()) return;
            if (head.is_free) {
                const std::uint32_t last = at + head.count - 1;
                demand(!after_a_free_one, "free unit", at, "is not merged with the one before");
                demand(flat_runs_ending(&runs, last) == at, "the last unit of free run", at, "does not know its head");
                std::uint32_t dirty = 0;
                for (std::uint32_t i = at; i < at + head.count; i++)
                    dirty += (runs.in.dirty_bits[i / 64] >> i % 64 & 1) != 0;
                demand(head.dirty == dirty, "free run", at, "has", dirty, "dirty units, and says", head.dirty);
                demand(dirty == 0 || head.count == 1 || first_dirty(runs, at) == head.first_dirty, "free run", at,
                       "does not know its first dirty unit");
                free_.insert(at);
                all_free_ += head.count;
                all_dirty_ += dirty;
            } else {
                used(at, head.count);
            }
            after_a_free_one = head.is_free;
            at += head.count;
        }
    }

    // Compares what units_of() found since the last call with what the set says.
    void compare(const run_set &runs) {
        numbers listed(where_), queued(where_);
        for (std::size_t list = 0; list < RUN_LISTS; list++) {
            demand(((runs.occupied[list / 64] >> list % 64 & 1) != 0) == (runs.lists[list] != NO_UNIT), "list", list);
            for (std::uint32_t head = runs.lists[list]; head != NO_UNIT && holds(); head = flat_run(&runs, head)->next)
                demand(listed.insert(head).second, "run", head, "is listed twice");
        }
        for (std::uint32_t head = runs.oldest; head != NO_UNIT && holds(); head = flat_run(&runs, head)->queue.newer)
            demand(queued.insert(head).second && flat_run(&runs, head)->dirty != 0, "run", head, "is queued wrongly");
        for (const std::uint32_t head : free_)
            demand((flat_run(&runs, head)->dirty != 0) == (queued.count(head) != 0), "run", head,
                   "is not queued rightly");
        demand(listed == free_, "the lists have other runs than there are");
        demand(runs.free == all_free_ && runs.dirty == all_dirty_, "of", all_free_, "free and", all_dirty_,
               "dirty units the set says", runs.free, "and", runs.dirty);
        free_.clear();
        all_free_ = all_dirty_ = 0;
    }

  private:
    static std::uint32_t first_dirty(const run_set &runs, std::uint32_t at) {
        while ((runs.in.dirty_bits[at / 64] >> at % 64 & 1) == 0) at++;
        return at;
    }

    std::pmr::memory_resource *where_;
    std::string found_;
    numbers free_;
    std::uint32_t all_free_ = 0, all_dirty_ = 0;
};

bool is_free_block(std::size_t granule) { return (flat_space.free[granule / 64] >> granule % 64 & 1) != 0; }

std::size_t live_in(std::uint32_t page, std::uint32_t pages) {
    std::size_t count = 0;
    for (std::size_t g = page * (PAGE / GRANULE); g < (page + pages) * (PAGE / GRANULE); g++)
        count += is_live(g) ? 1U : 0U;
    return count;
}

std::size_t large_in(std::uint32_t page, std::uint32_t pages) {
    std::size_t count = 0;
    for (std::uint32_t at = page; at < page + pages; at++) count += is_large_live(at) ? 1U : 0U;
    return count;
}

// The blocks of each class that are in any heap's cache, or on a ring to any heap.
using hands = std::pmr::vector<addresses>;

void collect_on_their_way(const thread_heap *heap, hands &all, walk &here) {
    for (const home_ring &ring : heap->rings) {
        here.demand(ring.written - ring.read <= RING_BLOCKS, "a ring has", ring.written - ring.read, "blocks");
        for (std::uint32_t at = ring.read; at != ring.written && here.holds(); at++) {
            const void *block = ring.blocks[at % RING_BLOCKS];
            const std::size_t page = offset_of(block) / PAGE;
            here.demand(heap_of_chunk(page / CHUNK_PAGES) == number_of_heap(heap), "block", block, "goes astray");
            here.demand(all[class_of_tag(tag_of(page))].insert(block).second, "block", block, "is on its way twice");
        }
    }
}

void collect_at_hand(const thread_heap *heap, hands &all, walk &here) {
    for (std::size_t number = 1; number < CLASS_COUNT; number++) {
        const block_at_hand *entry = heap->stacks.top[number];
        for (; entry[-1].block != nullptr && here.holds(); entry--) {
            const void *block = entry[-1].block;
            here.demand(all[number].insert(block).second, "block", block, "is at hand twice");
            here.demand(class_of_tag(tag_of(offset_of(block) / PAGE)) == number, "block", block, "is of another class");
            here.demand(entry[-1].state == state_of(block), "block", block, "is at hand with another's state");
        }
    }
}

void look_at_span(std::uint32_t head, std::uint32_t pages, std::size_t number, addresses &hand, walk &here) {
    const size_class &class_ = flat_size_classes[number];
    const unit &span = flat_space.pages[head];
    here.demand(pages == class_.pages, "span", head, "has", pages, "pages");
    for (std::uint32_t page = head; page < head + pages; page++) {
        here.demand(tag_of(page) == tag_of_class(number), "tag of page", page);
        here.demand(flat_space.pages[page].head == head, "page", page, "does not know its span");
        here.demand(!is_large_live(page), "page", page, "of a span has a large block");
    }
    std::size_t live = 0, held = 0, returned = 0;
    std::uint64_t words = 0;
    for (std::size_t i = 0; i < class_.capacity && here.holds(); i++) {
        const void *block = page_address(head) + i * class_.size;
        const std::size_t granule = offset_of(block) / GRANULE;
        const bool is_held = hand.erase(block) != 0, is_free = is_free_block(granule);
        live += is_live(granule) ? 1U : 0U;
        returned += is_small_returned(granule) ? 1U : 0U;
        held += is_held ? 1 : 0;
        if (is_free) words |= std::uint64_t{1} << (granule / 64 - head * (PAGE / GRANULE / 64));
        const int states =
            (is_live(granule) ? 1 : 0) + (is_small_returned(granule) ? 1 : 0) + (is_held ? 1 : 0) + (is_free ? 1 : 0);
        here.demand(states == (i < span.blocks.fresh ? 1 : 0), "block", i, "of span", head, "is in", states, "states");
    }
    here.demand(live + returned + held == span.blocks.taken, "span", head, "has", live, "live,", returned,
                "returned and", held, "at hand, and says", span.blocks.taken);
    here.demand(words == span.free_words, "span", head, "has other words with free blocks than it says");
    here.demand(live_in(head, pages) == live, "span", head, "has live blocks where none starts");
}

void look_at_heap(const thread_heap *heap, hands &hand, walk &here) {
    std::pmr::vector<numbers> open(CLASS_COUNT, here.where()), listed(CLASS_COUNT, here.where());
    std::uint32_t chunks = 0;
    for (std::uint32_t chunk = 0; chunk < flat_extents.begun / CHUNK_PAGES && here.holds(); chunk++) {
        if (heap_of_chunk(chunk) != number_of_heap(heap)) continue;
        chunks++;
        const std::uint32_t page = chunk * CHUNK_PAGES, end = page + CHUNK_PAGES;
        const bool newest = heap->frontier.end == end;
        here.units_of(heap->free_pages, page, newest ? heap->frontier.page : end,
                      [&](std::uint32_t head, std::uint32_t count) {
                          const std::size_t number = class_of_tag(tag_of(head));
                          if (number == 0) {
                              here.demand(large_in(head, count) == 1 && is_large_live(head), "large block", head);
                              here.demand(live_in(head, count) == 0, "large block", head, "has small ones in it");
                              return;
                          }
                          look_at_span(head, count, number, hand[number], here);
                          if (flat_space.pages[head].blocks.taken < flat_size_classes[number].capacity)
                              open[number].insert(head);
                      });
    }
    here.demand(chunks == heap->chunk_count, "a heap has", chunks, "chunks, and says", heap->chunk_count);
    here.compare(heap->free_pages);
    for (std::size_t number = 1; number < CLASS_COUNT && here.holds(); number++) {
        for (std::uint32_t head = heap->spans[number].first; head != NO_UNIT && here.holds();
             head = flat_space.pages[head].next)
            here.demand(listed[number].insert(head).second, "span", head, "is listed twice");
        here.demand(listed[number] == open[number], "class", number, "lists other spans than have room");
    }
}

} // namespace

std::string broken_invariant() {
    notes kept;
    walk here(kept.resource());
    hands hand(CLASS_COUNT, here.where());
    for (std::uint32_t number = 1; number <= flat_heap_count() && here.holds(); number++) {
        if (!has_begun(heap_number(number))) continue;
        collect_at_hand(heap_number(number), hand, here);
        collect_on_their_way(heap_number(number), hand, here);
    }
    for (std::uint32_t number = 1; number <= flat_heap_count() && here.holds(); number++) {
        if (has_begun(heap_number(number))) look_at_heap(heap_number(number), hand, here);
    }
    for (std::size_t number = 1; number < CLASS_COUNT; number++)
        here.demand(hand[number].empty(), "class", number, "has at hand what is in none of its spans");
    // The pages between the chunks of heaps.
    const std::uint32_t end = flat_extents.begun;
    for (std::uint32_t page = 0; page < end && here.holds();) {
        std::uint32_t until = page / CHUNK_PAGES * CHUNK_PAGES;
        while (until < end && heap_of_chunk(until / CHUNK_PAGES) == 0) until += CHUNK_PAGES;
        here.units_of(flat_extents.free_pages, page, std::min(until, end), [&](std::uint32_t head, std::uint32_t) {
            here.demand(is_large_live(head), "page", head, "is nobody's");
        });
        page = until + CHUNK_PAGES;
    }
    here.compare(flat_extents.free_pages);
    return here.found();
}

} // namespace test
