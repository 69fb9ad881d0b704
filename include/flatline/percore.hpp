// A set of shards (<flatline/percore.h>) for C++: blocks allocated on one thread and freed on any.
//
//     percore_resource              over one shard, for the containers of std::pmr
//     percore_allocator<T>          a standard allocator over one shard; its containers may be destroyed on any thread
//     percore_local_allocator<T>    the same for containers that stay on their thread: own blocks are freed locally
//
// Each holds the handle of one shard, and a container keeps the handle that it was made with, on whatever thread it is.
// The handle determines the shard that memory comes from, and only the shard's owner may make calls that allocate. It
// does not determine who frees: a resource and a percore_allocator free every block remotely, which any thread may do.
//
// On a thread that is not the owner, a container may be read, changed in place, emptied and destroyed. To let it grow
// there, move its blocks into a container with a handle of that thread. Blocks move in constant time, handles stay:
//
//     mine = std::move(theirs);                                     or mine.swap(theirs), mine.splice(..., theirs)
//     std::vector<int, allocator> mine(std::move(theirs), here);    `here`: an allocator with the thread's own shard
//
// Do not use `auto mine = std::move(theirs);` or `auto mine = theirs;` for this: they take or copy the handle as well.
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

/// A shard whose blocks any thread frees. The set is stored next to the shard, so that a free reads nothing of the
/// shard, which belongs to its owner.
struct shared_shard {
    flat_pool *shard;
    flat_percore *set;
    static constexpr const char *name = "percore_allocator";
};

/// A shard whose blocks only its owner frees.
struct owned_shard {
    flat_pool *shard;
    flat_percore *set;
    static constexpr const char *name = "percore_local_allocator";
};

/// The shard with its set. A pool that is no shard ends the program with one line of output: it has no set that could
/// take its blocks.
template <class Shard> Shard handle_of(const char *name, flat_pool *shard) noexcept {
    flat_percore *set = shard == nullptr ? nullptr : flat_percore_of(shard);
    if (__builtin_expect(set != nullptr, 1)) return {shard, set};
    print({name, FLAT_INVALID_ARGUMENT, "the pool is no shard of a set", shard, 0, 0});
    std::abort();
}

/// The common part of both kinds of source.
template <class Shard> struct shard_traits {
    static constexpr std::size_t granule = FLAT_POOL_GRANULE;
    static constexpr bool calls = true;
    static void *allocate(Shard &of, std::size_t bytes, std::size_t) { return flat_percore_alloc(of.shard, bytes); }
    static void *allocate_aligned(Shard &of, std::size_t bytes, std::size_t alignment) {
        return flat_percore_aligned_alloc(of.shard, alignment, bytes);
    }
    static bool owns(const Shard &of, const void *address) {
        return flat_percore_shard_of(of.set, address) != SIZE_MAX; // of any shard of the set: all can be freed here
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

/// Blocks of a shard's sizes, which any thread may free. `allocate` is for the shard's owner. A request gets a block of
/// the smallest class that holds it; if that class is exhausted, or there is none, it goes to `next`. `deallocate` is
/// for any thread and takes the blocks of every shard of the set, always as a remote free. Each block is checked, and
/// one that is not of the set goes to `next`, which any thread must then be able to free to: the heap, or a
/// `locked_resource`. Constant time without a wait, plus the time of `next` if it is reached.
///
/// Two are equal iff they are of one set and have the same `next`: each can then free the blocks of the other. In code
/// built without RTTI each is equal to itself only.
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
/// The set must outlive every container. Two allocators are equal iff they are of one set. Containers of one set
/// therefore take over each other's blocks in constant time, and this cannot fail; those of two sets move their
/// elements one by one, and must not be swapped. No assignment and no swap moves the handle: a container allocates from
/// the shard that it was made with.
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

    /// Allocates memory for `count` objects, for the shard's owner. Throws std::bad_alloc iff the shard has none;
    /// `last_refusal` returns the request.
    [[nodiscard]] T *allocate(std::size_t count) { return detail::room_for<T, Shard>::allocate(name, shard_, count); }

    /// Frees a block of any shard of the set; a refusal calls the misuse handler.
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

/// Allocates on the thread that owns the shard, frees on any: every free is a remote free, also the owner's.
template <class T> using percore_allocator = basic_percore_allocator<T, detail::shared_shard>;

/// For containers whose every call, the destructor's included, is made by the thread that owns the shard. Blocks of
/// that shard are freed as a pool's are, without an atomic operation; blocks taken over from other threads are freed
/// remotely.
template <class T> using percore_local_allocator = basic_percore_allocator<T, detail::owned_shard>;

} // namespace flat

#endif
