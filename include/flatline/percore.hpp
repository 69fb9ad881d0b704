// A set of shards (<flatline/percore.h>) for C++: blocks allocated on one thread and given back on any.
//
//     percore_resource              over one shard, for the containers of std::pmr
//     percore_allocator<T>          a standard allocator over one shard; its containers may end on any thread
//     percore_local_allocator<T>    the same for containers that stay on their thread: own blocks go back locally
//
// Each holds the handle of one shard, and a container carries the handle of whoever made it, wherever it goes. So the
// handle says where memory comes from, and only the shard's owner may do what allocates. It does not say who frees: a
// resource and a percore_allocator give every block back as a remote free, which any thread may do.
//
// On another thread than the owner's a container may be read, changed in place, emptied and destroyed. To let it grow
// there, take its blocks over into one with a handle of that thread. Blocks move in constant time, handles stay:
//
//     mine = std::move(theirs);                                     or mine.swap(theirs), mine.splice(..., theirs)
//     std::vector<int, allocator> mine(std::move(theirs), here);    `here`: an allocator with the thread's own shard
//
// Not so `auto mine = std::move(theirs);` nor `auto mine = theirs;`: these take or copy the handle as well.
#ifndef FLATLINE_PERCORE_HPP
#define FLATLINE_PERCORE_HPP

#include <flatline/allocator.hpp>
#include <flatline/misuse.hpp>
#include <flatline/percore.h>
#include <flatline/resource.hpp>
#include <flatline/source.hpp>
#include <flatline/status.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory_resource>
#include <type_traits>

namespace flat {

namespace detail {

/// A shard whose blocks go back from any thread. The set stands beside it, so that a free reads nothing of the shard,
/// which is its owner's.
struct shared_shard {
    flat_pool *shard;
    flat_percore *set;
    static constexpr const char *name = "percore_allocator";
};

/// A shard whose owner alone gives blocks back.
struct owned_shard {
    flat_pool *shard;
    flat_percore *set;
    static constexpr const char *name = "percore_local_allocator";
};

/// The shard with its set. A pool that is no shard ends the program with one line: there is no set for its blocks to go
/// back to.
template <class Shard> Shard handle_of(const char *name, flat_pool *shard) noexcept {
    flat_percore *set = shard == nullptr ? nullptr : flat_percore_of(shard);
    if (__builtin_expect(set != nullptr, 1)) return {shard, set};
    print({name, FLAT_INVALID_ARGUMENT, "the pool is no shard of a set", shard, 0, 0});
    std::abort();
}

/// What the two kinds have in common as sources.
template <class Shard> struct shard_traits {
    static constexpr std::size_t granule = FLAT_POOL_GRANULE;
    static constexpr bool calls = true;
    static void *allocate(Shard &of, std::size_t bytes, std::size_t) { return flat_percore_alloc(of.shard, bytes); }
    static void *allocate_aligned(Shard &of, std::size_t bytes, std::size_t alignment) {
        return flat_percore_aligned_alloc(of.shard, alignment, bytes);
    }
    static bool owns(const Shard &of, const void *address) {
        return flat_percore_shard_of(of.set, address) != SIZE_MAX; // of whichever shard: that is what goes back here
    }
};

} // namespace detail

template <> struct source_traits<detail::shared_shard> : detail::shard_traits<detail::shared_shard> {
    static flat_status deallocate(detail::shared_shard &of, void *block) { return flat_percore_free(of.set, block); }
};

template <> struct source_traits<detail::owned_shard> : detail::shard_traits<detail::owned_shard> {
    static flat_status deallocate(detail::owned_shard &of, void *block) {
        return flat_percore_free_as(of.shard, block);
    }
};

/// Blocks of a shard's sizes, which any thread may give back. `allocate` is for the shard's owner: a request gets the
/// smallest class that holds it; where that has nothing, or there is none, `next`. `deallocate` is for any thread and
/// takes the blocks of every shard of the set, always as a remote free; each is checked, and one that is not of the set
/// goes to `next`, which must then be one that any thread may give blocks to: the heap's, or a `locked_resource`.
/// Constant time without a wait, plus that of `next` where it is reached.
///
/// Two are equal iff they are of one set and go on in the same `next`: whatever the one handed out, the other takes
/// back. In code built without RTTI each is equal to itself only.
class FLAT_API percore_resource final : public detail::source_resource<percore_resource, detail::shared_shard> {
  public:
    explicit percore_resource(flat_pool &shard, upstream next = {}) noexcept
        : source_resource(next), shard_(detail::handle_of<detail::shared_shard>(name, &shard)) {}

    flat_pool *shard() const noexcept { return shard_.shard; }
    flat_percore *set() const noexcept { return shard_.set; }
    detail::shared_shard &source() noexcept { return shard_; }
    const detail::shared_shard &source() const noexcept { return shard_; }
    static constexpr const char *name = "percore_resource";

  private:
    bool do_is_equal(const std::pmr::memory_resource &other) const noexcept override {
#if defined(__cpp_rtti)
        const auto *ours = dynamic_cast<const percore_resource *>(&other);
        return ours != nullptr && ours->shard_.set == shard_.set && goes_on_as(*ours);
#else
        return this == &other;
#endif
    }

    detail::shared_shard shard_;
};

/// A standard allocator over a shard, without a virtual call: `percore_allocator` and `percore_local_allocator`.
///
/// The set must outlive every container. Two allocators are equal iff they are of one set, so containers of one set
/// take each other's blocks over in constant time, and nothing can fail; those of two sets move their elements one by
/// one, and must not be swapped. No assignment and no swap takes the handle along: a container allocates from the shard
/// that it was made with.
template <class T, class Shard> class basic_percore_allocator {
  public:
    using value_type = T;
    using propagate_on_container_copy_assignment = std::false_type;
    using propagate_on_container_move_assignment = std::false_type;
    using propagate_on_container_swap = std::false_type;
    using is_always_equal = std::false_type;

    basic_percore_allocator(flat_pool *shard) noexcept : shard_(detail::handle_of<Shard>(name, shard)) {}
    template <class U>
    basic_percore_allocator(const basic_percore_allocator<U, Shard> &other) noexcept
        : shard_{other.shard(), other.set()} {}

    /// Room for `count` objects, for the shard's owner. Throws std::bad_alloc iff the shard has none; `last_refusal`
    /// says for what.
    [[nodiscard]] T *allocate(std::size_t count) { return detail::room_for<T, Shard>::allocate(name, shard_, count); }

    /// Gives a block of any shard of the set back; a refusal calls the misuse handler.
    void deallocate(T *block, std::size_t count) { detail::room_for<T, Shard>::deallocate(name, shard_, block, count); }

    flat_pool *shard() const noexcept { return shard_.shard; }
    flat_percore *set() const noexcept { return shard_.set; }
    static constexpr const char *name = Shard::name;

  private:
    Shard shard_;
};

template <class T, class U, class Shard>
bool operator==(const basic_percore_allocator<T, Shard> &a, const basic_percore_allocator<U, Shard> &b) noexcept {
    return a.set() == b.set();
}
template <class T, class U, class Shard>
bool operator!=(const basic_percore_allocator<T, Shard> &a, const basic_percore_allocator<U, Shard> &b) noexcept {
    return !(a == b);
}

/// Allocates on the thread that owns the shard, gives back on any: every free is a remote free, also the owner's own.
template <class T> using percore_allocator = basic_percore_allocator<T, detail::shared_shard>;

/// For containers of which every call, the destructor's too, is made by the thread that owns the shard. Its own blocks
/// go back as a pool's do, without an atomic operation; what it took over from other threads goes back remotely.
template <class T> using percore_local_allocator = basic_percore_allocator<T, detail::owned_shard>;

} // namespace flat

#endif
