// allocator<T, Source>: a standard allocator over a pool, heap or arena, without a virtual call.
//
// A container of std::pmr holds a pointer to a memory_resource and allocates by virtual calls. A container with this
// allocator holds a pointer to the C object. Its calls are the C calls, inlined where those are inline.
//
//     std::map<int, Order, std::less<>, flat::allocator<std::pair<const int, Order>, flat_pool>> orders(pool);
#ifndef FLATLINE_ALLOCATOR_HPP
#define FLATLINE_ALLOCATOR_HPP

#include <flatline/misuse.hpp>
#include <flatline/object_pool.hpp>
#include <flatline/resource.hpp>
#include <flatline/source.hpp>
#include <flatline/status.h>

#include <cstddef>
#include <type_traits>

namespace flat {

namespace detail {

/// What every standard allocator here does for objects of type T; `name` is the allocator's name in messages.
template <class T, class Source> struct room_for {
    using traits = source_traits<Source>;

    static T *allocate(const char *name, Source &source, std::size_t count) {
        if (__builtin_expect(count > SIZE_MAX / sizeof(T), 0)) refuse(name, SIZE_MAX, alignof(T));
        void *block = alignof(T) > traits::granule ? traits::allocate_aligned(source, count * sizeof(T), alignof(T))
                                                   : traits::allocate(source, count * sizeof(T), alignof(T));
        if (__builtin_expect(block == nullptr, 0)) refuse(name, count * sizeof(T), alignof(T));
        return static_cast<T *>(block);
    }
    static void deallocate(const char *name, Source &source, T *block, std::size_t count) {
        const flat_status status = traits::deallocate(source, block);
        if (__builtin_expect(status == FLAT_OK, 1)) return;
        report_refused_free(name, status, block, count * sizeof(T), alignof(T));
    }
};

} // namespace detail

/// `Source` is flat_pool, flat_heap, flat_arena, an inline_arena<N>, or any other type with a `source_traits`. It must
/// outlive every container that uses it. It belongs to one thread at a time, as the source does.
///
/// A copied container shares its source; a copy-assigned container keeps its own. A moved or swapped container takes
/// its source along with its blocks: constant time, no allocation, and it cannot fail. (std::pmr's allocator stays
/// behind instead, and the elements are moved one by one into new memory.) Two allocators are equal iff they have the
/// same source.
template <class T, class Source> class allocator {
  public:
    using value_type = T;
    using propagate_on_container_copy_assignment = std::false_type;
    using propagate_on_container_move_assignment = std::true_type;
    using propagate_on_container_swap = std::true_type;
    using is_always_equal = std::false_type;

    allocator(Source *source) noexcept : source_(source) {}
    template <class U> allocator(const allocator<U, Source> &other) noexcept : source_(other.source()) {}

    /// Allocates memory for `count` objects. Throws std::bad_alloc iff the source has none; `last_refusal` returns the
    /// request.
    [[nodiscard]] T *allocate(std::size_t count) {
        return detail::room_for<T, Source>::allocate(name, *source_, count);
    }

    /// Frees `block`; a refusal calls the misuse handler.
    void deallocate(T *block, std::size_t count) {
        detail::room_for<T, Source>::deallocate(name, *source_, block, count);
    }

    Source *source() const noexcept { return source_; }
    static constexpr const char *name = "allocator";

  private:
    Source *source_;
};

template <class T, class U, class Source>
bool operator==(const allocator<T, Source> &a, const allocator<U, Source> &b) noexcept {
    return a.source() == b.source();
}
template <class T, class U, class Source>
bool operator!=(const allocator<T, Source> &a, const allocator<U, Source> &b) noexcept {
    return a.source() != b.source();
}

} // namespace flat

#endif
