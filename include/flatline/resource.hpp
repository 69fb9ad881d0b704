// Memory resources for the containers of std::pmr.
//
//     pool_resource, heap_resource, arena_resource    over a C object that the caller made
//     inline_arena<N>                                 an arena over N bytes inside the object
//     region_resource                                 an arena over existing memory
//     limited_resource                                a budget over another resource
//     tracking_resource                               counts the calls to another resource
//     chain_resource                                  one resource, and then another
//     locked_resource                                 one resource for many threads
//     refusing_resource()                             refuses everything: the default upstream of the others
//     percore_resource                                blocks that any thread may free: <flatline/percore.hpp>
//
// None falls back to the heap unless you name it: `pool_resource(pool, std::pmr::new_delete_resource())`. A request
// that no resource can serve throws std::bad_alloc, a free that is refused calls the misuse handler: see
// <flatline/misuse.hpp>.
//
// Two resources are equal iff they are one object, or `percore_resource`s of one set. A resource must outlive the
// containers that use it, and its source or upstream must outlive the resource. All except `locked_resource` belong to
// one thread at a time, and `percore_resource` in its allocations only.
#ifndef FLATLINE_RESOURCE_HPP
#define FLATLINE_RESOURCE_HPP

#include <flatline/arena.h>
#include <flatline/heap.h>
#include <flatline/memory.h>
#include <flatline/misuse.hpp>
#include <flatline/pool.h>
#include <flatline/region.h>
#include <flatline/sanitizer.h>
#include <flatline/source.hpp>
#include <flatline/status.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory_resource>
#include <mutex>
#include <new>
#include <pthread.h>

namespace flat {

/// The base of the resources here: each also has calls that return errors as values, as in C.
class resource : public std::pmr::memory_resource {
  public:
    resource(const resource &) = delete;
    resource &operator=(const resource &) = delete;

    /// As `allocate`, but returns null instead of throwing, and `last_refusal` does not count it.
    [[nodiscard]] void *try_allocate(std::size_t bytes, std::size_t alignment = alignof(std::max_align_t)) noexcept {
        return do_try_allocate(bytes, alignment);
    }

    /// As `deallocate`, but returns why it was refused, and calls no handler. FLAT_OK if the block went to a resource
    /// of another library, which returns no status.
    [[nodiscard]] flat_status try_deallocate(void *block, std::size_t bytes,
                                             std::size_t alignment = alignof(std::max_align_t)) noexcept {
        return do_try_deallocate(block, bytes, alignment);
    }

    /// Whether `address` is in memory that this resource allocates from; false for memory of a resource below that is
    /// not derived from `resource`.
    [[nodiscard]] bool owns(const void *address) const noexcept { return do_owns(address); }

    /// Whether `owns` is true for every block it allocates: every resource below is derived from `resource`.
    [[nodiscard]] bool knows_its_blocks() const noexcept { return do_knows_its_blocks(); }

  protected:
    resource() = default;
    ~resource() override = default;

  private:
    virtual void *do_try_allocate(std::size_t bytes, std::size_t alignment) noexcept = 0;
    virtual flat_status do_try_deallocate(void *block, std::size_t bytes, std::size_t alignment) noexcept = 0;
    virtual bool do_owns(const void *address) const noexcept = 0;
    virtual bool do_knows_its_blocks() const noexcept = 0;
    bool do_is_equal(const std::pmr::memory_resource &other) const noexcept override { return this == &other; }
};

namespace detail {

class FLAT_API refusing final : public resource {
    void *do_allocate(std::size_t bytes, std::size_t alignment) override { refuse(name, bytes, alignment); }
    void do_deallocate(void *block, std::size_t bytes, std::size_t alignment) override {
        if (block != nullptr) report_refused_free(name, FLAT_FOREIGN_POINTER, block, bytes, alignment);
    }
    void *do_try_allocate(std::size_t, std::size_t) noexcept override { return nullptr; }
    flat_status do_try_deallocate(void *block, std::size_t, std::size_t) noexcept override {
        return block == nullptr ? FLAT_OK : FLAT_FOREIGN_POINTER;
    }
    bool do_owns(const void *) const noexcept override { return false; }
    bool do_knows_its_blocks() const noexcept override { return true; }

    static constexpr const char *name = "refusing_resource";
};

/// The only one. Never destroyed: containers in static storage may outlive everything else.
FLAT_API inline refusing &the_refusing_resource() noexcept {
    alignas(refusing) static unsigned char storage[sizeof(refusing)];
    static refusing *const made = ::new (static_cast<void *>(storage)) refusing;
    return *made;
}

} // namespace detail

/// The resource that refuses everything: `allocate` throws std::bad_alloc and records the request (`last_refusal`);
/// every free is refused as foreign. Any thread.
inline std::pmr::memory_resource *refusing_resource() noexcept { return &detail::the_refusing_resource(); }

/// The resource below another one: a pointer to any memory resource. If the pointer's type is derived from `resource`,
/// it is asked with errors as values. None, null and `refusing_resource()` mean the same.
class upstream {
  public:
    upstream() noexcept = default;
    upstream(resource *given) noexcept : any_(given), ours_(given) {}
    upstream(std::pmr::memory_resource *given) noexcept : any_(given == refusing_resource() ? nullptr : given) {}

    /// Throws as the resource does; if there is none, the refusal is recorded for the class `asker`.
    void *allocate(const char *asker, std::size_t bytes, std::size_t alignment) {
        if (any_ == nullptr) detail::refuse(asker, bytes, alignment);
        return any_->allocate(bytes, alignment);
    }
    void *try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
        if (ours_ != nullptr) return ours_->try_allocate(bytes, alignment);
        if (any_ == nullptr) return nullptr;
#if defined(__cpp_exceptions)
        try {
            return any_->allocate(bytes, alignment);
        } catch (...) {
            return nullptr;
        }
#else
        return any_->allocate(bytes, alignment);
#endif
    }
    flat_status try_deallocate(void *block, std::size_t bytes, std::size_t alignment) noexcept {
        if (ours_ != nullptr) return ours_->try_deallocate(block, bytes, alignment);
        if (any_ == nullptr) return block == nullptr ? FLAT_OK : FLAT_FOREIGN_POINTER;
        any_->deallocate(block, bytes, alignment);
        return FLAT_OK;
    }
    bool owns(const void *address) const noexcept { return ours_ != nullptr && ours_->owns(address); }
    bool knows_its_blocks() const noexcept { return ours_ != nullptr ? ours_->knows_its_blocks() : any_ == nullptr; }
    bool is_that_of(const upstream &other) const noexcept { return any_ == other.any_; }

  private:
    std::pmr::memory_resource *any_ = nullptr; // null: no upstream
    resource *ours_ = nullptr;                 // the same, or null if it is not derived from `resource`
};

namespace detail {

/// A call's arguments, for the code after a refusal.
template <class Self> struct call_arguments {
    Self *self;
    void *block;
    std::size_t bytes, alignment;

    /// Writes them to the stack before the call of a source that is not inline. If they stayed in registers for a
    /// possible refusal, every call would need a save, a copy and a restore for each of them.
    void lay_down() noexcept { __asm__ volatile("" : "+m"(*this)); }
};

/// A resource over `Self::source()`, which falls back to `next` when that has no memory. The fast path of a call is the
/// source's call and one comparison; all else is out of line.
template <class Self, class Source> class source_resource : public resource {
    using traits = source_traits<Source>;
    using call = call_arguments<source_resource>;

  protected:
    explicit source_resource(upstream next) noexcept : next_(next) {}

  private:
    Source &source() noexcept { return static_cast<Self *>(this)->source(); }
    const Source &source() const noexcept { return static_cast<const Self *>(this)->source(); }

    void *do_allocate(std::size_t bytes, std::size_t alignment) override {
        if (__builtin_expect(alignment > traits::granule, 0)) return allocate_aligned(bytes, alignment);
        call of{this, nullptr, bytes, alignment};
        if constexpr (traits::calls) of.lay_down();
        void *block = traits::allocate(source(), bytes, alignment);
        if (__builtin_expect(block != nullptr, 1)) return block;
        return of.self->go_on(of.bytes, of.alignment);
    }
    void do_deallocate(void *block, std::size_t bytes, std::size_t alignment) override {
        call of{this, block, bytes, alignment};
        if constexpr (traits::calls) of.lay_down();
        const flat_status status = traits::deallocate(source(), block);
        if (__builtin_expect(status == FLAT_OK, 1)) return;
        of.self->not_of_the_source(status, of.block, of.bytes, of.alignment);
    }
    void *do_try_allocate(std::size_t bytes, std::size_t alignment) noexcept override {
        void *block = alignment > traits::granule ? traits::allocate_aligned(source(), bytes, alignment)
                                                  : traits::allocate(source(), bytes, alignment);
        return block != nullptr ? block : next_.try_allocate(bytes, alignment);
    }
    flat_status do_try_deallocate(void *block, std::size_t bytes, std::size_t alignment) noexcept override {
        const flat_status status = traits::deallocate(source(), block);
        return status == FLAT_FOREIGN_POINTER ? next_.try_deallocate(block, bytes, alignment) : status;
    }
    bool do_owns(const void *address) const noexcept override {
        return traits::owns(source(), address) || next_.owns(address);
    }
    bool do_knows_its_blocks() const noexcept override { return next_.knows_its_blocks(); }

  protected:
    bool goes_on_as(const source_resource &other) const noexcept { return next_.is_that_of(other.next_); }

    __attribute__((noinline)) void *allocate_aligned(std::size_t bytes, std::size_t alignment) {
        void *block = traits::allocate_aligned(source(), bytes, alignment);
        return block != nullptr ? block : go_on(bytes, alignment);
    }
    __attribute__((noinline, cold)) void *go_on(std::size_t bytes, std::size_t alignment) {
        return next_.allocate(Self::name, bytes, alignment);
    }
    __attribute__((noinline, cold)) void not_of_the_source(flat_status status, void *block, std::size_t bytes,
                                                           std::size_t alignment) {
        if (status == FLAT_FOREIGN_POINTER) status = next_.try_deallocate(block, bytes, alignment);
        if (status != FLAT_OK) report_refused_free(Self::name, status, block, bytes, alignment);
    }

  private:
    upstream next_;
};

} // namespace detail

/// Blocks of a pool's sizes. A request gets a block of the smallest class that holds it; if that class is exhausted, or
/// there is none, it goes to `next`. Every free is checked. Constant time, plus the time of `next` if it is reached.
class FLAT_API pool_resource final : public detail::source_resource<pool_resource, flat_pool>,
                                     private flat_pool_otherwise {
  public:
    explicit pool_resource(flat_pool &pool, upstream next = {}) noexcept
        : source_resource(next), flat_pool_otherwise{allocate_elsewhere, free_elsewhere}, pool_(&pool) {}
    flat_pool &source() noexcept { return *pool_; }
    const flat_pool &source() const noexcept { return *pool_; }
    static constexpr const char *name = "pool_resource";

  private:
    // A pool calls `allocate_elsewhere` or `free_elsewhere` itself when it refuses. So a call that it serves returns
    // directly to the container.
    void *do_allocate(std::size_t bytes, std::size_t alignment) override {
        if (__builtin_expect(alignment > FLAT_POOL_GRANULE, 0)) return allocate_aligned(bytes, alignment);
        return flat_pool_alloc_or_else(pool_, bytes, alignment, this);
    }
    void do_deallocate(void *block, std::size_t bytes, std::size_t alignment) override {
        flat_pool_free_or_else(pool_, block, bytes, alignment, this);
    }
    static void *allocate_elsewhere(flat_pool_otherwise *self, std::size_t bytes, std::size_t alignment) {
        return static_cast<pool_resource *>(self)->go_on(bytes, alignment);
    }
    static flat_status free_elsewhere(flat_pool_otherwise *self, void *block, std::size_t bytes, std::size_t alignment,
                                      flat_status refusal) {
        static_cast<pool_resource *>(self)->not_of_the_source(refusal, block, bytes, alignment);
        return refusal;
    }

    flat_pool *pool_;
};

/// Blocks of any size from a heap. Every free is checked. Bounded time: docs/heap.md.
class FLAT_API heap_resource final : public detail::source_resource<heap_resource, flat_heap> {
  public:
    explicit heap_resource(flat_heap &heap, upstream next = {}) noexcept : source_resource(next), heap_(&heap) {}
    flat_heap &source() noexcept { return *heap_; }
    const flat_heap &source() const noexcept { return *heap_; }
    static constexpr const char *name = "heap_resource";

  private:
    flat_heap *heap_;
};

/// Blocks from an arena, which frees none by itself: reset or rewind `source()` when nothing uses them any more. A free
/// only checks whether the block is in the arena; a double free is not detected. Constant time.
class FLAT_API arena_resource final : public detail::source_resource<arena_resource, flat_arena> {
  public:
    explicit arena_resource(flat_arena &arena, upstream next = {}) noexcept : source_resource(next), arena_(&arena) {}
    flat_arena &source() noexcept { return *arena_; }
    const flat_arena &source() const noexcept { return *arena_; }
    static constexpr const char *name = "arena_resource";

  private:
    flat_arena *arena_;
};

/// An arena over existing memory: a device's buffer, memory shared with another process, a flat_region. It writes
/// nothing to that memory. Invalid memory (null, or wrapping around) is reported to the misuse handler as
/// FLAT_INVALID_ARGUMENT; every request is then refused.
class FLAT_API region_resource final : public detail::source_resource<region_resource, flat_arena> {
  public:
    explicit region_resource(flat_memory memory, upstream next = {}) : source_resource(next) {
        const flat_status status = flat_arena_init(&arena_, memory);
        if (status == FLAT_OK) return;
        if (flat_arena_init(&arena_, {&arena_, 0}) != FLAT_OK) std::abort();
        detail::report({name, status, "the memory is null or wraps around", memory.start, memory.size, 1});
    }
    explicit region_resource(const flat_region &region, upstream next = {})
        : region_resource(flat_memory{region.start, region.size}, next) {}
    ~region_resource() override { flat_arena_destroy(&arena_); }
    flat_arena &source() noexcept { return arena_; }
    const flat_arena &source() const noexcept { return arena_; }
    static constexpr const char *name = "region_resource";

  private:
    flat_arena arena_;
};

/// An arena over N bytes inside the object: for the stack. Also a source: `flat::allocator<T, flat::inline_arena<N>>`.
template <std::size_t N>
class FLAT_API inline_arena final : public detail::source_resource<inline_arena<N>, flat_arena> {
    static_assert(N > 0, "an inline_arena has room for something");
    using base = detail::source_resource<inline_arena<N>, flat_arena>;

  public:
    explicit inline_arena(upstream next = {}) noexcept : base(next) {
        if (flat_arena_init(&arena_, {bytes_, N}) != FLAT_OK) std::abort();
    }
    ~inline_arena() override { flat_sanitizer_open(bytes_, N); } // there is no region to unmap
    flat_arena &source() noexcept { return arena_; }
    const flat_arena &source() const noexcept { return arena_; }
    static constexpr const char *name = "inline_arena";

  private:
    flat_arena arena_;
    alignas(std::max_align_t) std::byte bytes_[N];
};

/// As a source, it is its arena: without upstream, and without a virtual call.
template <std::size_t N> struct source_traits<inline_arena<N>> {
    using traits = source_traits<flat_arena>;
    using arena = inline_arena<N>;
    static constexpr std::size_t granule = traits::granule;
    static constexpr bool calls = traits::calls;
    static void *allocate(arena &of, std::size_t bytes, std::size_t alignment) {
        return traits::allocate(of.source(), bytes, alignment);
    }
    static void *allocate_aligned(arena &of, std::size_t bytes, std::size_t alignment) {
        return traits::allocate_aligned(of.source(), bytes, alignment);
    }
    static flat_status deallocate(arena &of, void *block) { return traits::deallocate(of.source(), block); }
    static bool owns(const arena &of, const void *address) { return traits::owns(of.source(), address); }
};

namespace detail {

/// A resource over another one, with these four functions in `Self`:
///     bool may_allocate(bytes)                  whether the request may go to `below`
///     void allocated(bytes, alignment)          the request succeeded
///     bool may_deallocate(bytes)                whether the block may be freed
///     void deallocated(bytes)                   the block was freed
template <class Self> class layered_resource : public resource {
  protected:
    explicit layered_resource(upstream below) noexcept : below_(below) {}

  private:
    Self &self() noexcept { return static_cast<Self &>(*this); }

    void *do_allocate(std::size_t bytes, std::size_t alignment) override {
        if (!self().may_allocate(bytes)) refuse(Self::name, bytes, alignment);
        void *block = below_.allocate(Self::name, bytes, alignment);
        self().allocated(bytes, alignment);
        return block;
    }
    void *do_try_allocate(std::size_t bytes, std::size_t alignment) noexcept override {
        if (!self().may_allocate(bytes)) return nullptr;
        void *block = below_.try_allocate(bytes, alignment);
        if (block != nullptr) self().allocated(bytes, alignment);
        return block;
    }
    void do_deallocate(void *block, std::size_t bytes, std::size_t alignment) override {
        const flat_status status = do_try_deallocate(block, bytes, alignment);
        if (status != FLAT_OK) report_refused_free(Self::name, status, block, bytes, alignment);
    }
    flat_status do_try_deallocate(void *block, std::size_t bytes, std::size_t alignment) noexcept override {
        if (block == nullptr) return FLAT_OK;
        if (!self().may_deallocate(bytes)) return FLAT_FOREIGN_POINTER;
        const flat_status status = below_.try_deallocate(block, bytes, alignment);
        if (status == FLAT_OK) self().deallocated(bytes);
        return status;
    }
    bool do_owns(const void *address) const noexcept override { return below_.owns(address); }
    bool do_knows_its_blocks() const noexcept override { return below_.knows_its_blocks(); }

    upstream below_;
};

} // namespace detail

/// A budget of bytes over another resource: at most `budget` bytes are live at any moment, counted as requested (0 as
/// 1). A request beyond it is refused, whatever is left below. A free of more bytes than are live is refused as
/// foreign.
class FLAT_API limited_resource final : public detail::layered_resource<limited_resource> {
  public:
    explicit limited_resource(std::size_t budget, upstream below = {}) noexcept
        : layered_resource(below), budget_(budget) {}

    std::size_t budget() const noexcept { return budget_; }         ///< bytes
    std::size_t live() const noexcept { return live_; }             ///< live bytes, as requested; live <= budget
    std::size_t high_water() const noexcept { return high_water_; } ///< the most bytes that were ever live at once
    std::uint64_t refused() const noexcept { return refused_; }     ///< requests beyond the budget
    static constexpr const char *name = "limited_resource";

  private:
    friend layered_resource;
    static std::size_t counted(std::size_t bytes) noexcept { return bytes + (bytes == 0); }

    bool may_allocate(std::size_t bytes) noexcept {
        const bool fits = counted(bytes) <= budget_ - live_;
        refused_ += !fits;
        return fits;
    }
    void allocated(std::size_t bytes, std::size_t) noexcept {
        live_ += counted(bytes);
        if (live_ > high_water_) high_water_ = live_;
    }
    bool may_deallocate(std::size_t bytes) const noexcept { return counted(bytes) <= live_; }
    void deallocated(std::size_t bytes) noexcept { live_ -= counted(bytes); }

    std::size_t budget_, live_ = 0, high_water_ = 0;
    std::uint64_t refused_ = 0;
};

/// The first resource, and the second when the first has no memory. A block is freed to the resource that it came from,
/// so the first must know its own blocks. One that does not (`knows_its_blocks`) is reported to the misuse handler as
/// FLAT_INVALID_ARGUMENT, and the chain then uses the second alone. Longer chains are chains of chains.
class FLAT_API chain_resource final : public resource {
  public:
    explicit chain_resource(resource *first, upstream second = {}) : first_(first), second_(second) {
        if (first != nullptr && first->knows_its_blocks()) return;
        first_ = &detail::the_refusing_resource();
        detail::report({name, FLAT_INVALID_ARGUMENT, "the first resource cannot tell its own blocks", first, 0, 0});
    }
    static constexpr const char *name = "chain_resource";

  private:
    void *do_allocate(std::size_t bytes, std::size_t alignment) override {
        void *block = first_->try_allocate(bytes, alignment);
        return block != nullptr ? block : second_.allocate(name, bytes, alignment);
    }
    void *do_try_allocate(std::size_t bytes, std::size_t alignment) noexcept override {
        void *block = first_->try_allocate(bytes, alignment);
        return block != nullptr ? block : second_.try_allocate(bytes, alignment);
    }
    void do_deallocate(void *block, std::size_t bytes, std::size_t alignment) override {
        const flat_status status = do_try_deallocate(block, bytes, alignment);
        if (status != FLAT_OK) detail::report_refused_free(name, status, block, bytes, alignment);
    }
    flat_status do_try_deallocate(void *block, std::size_t bytes, std::size_t alignment) noexcept override {
        if (block == nullptr) return FLAT_OK;
        return first_->owns(block) ? first_->try_deallocate(block, bytes, alignment)
                                   : second_.try_deallocate(block, bytes, alignment);
    }
    bool do_owns(const void *address) const noexcept override { return first_->owns(address) || second_.owns(address); }
    bool do_knows_its_blocks() const noexcept override { return second_.knows_its_blocks(); }

    resource *first_;
    upstream second_;
};

namespace detail {

/// A mutex with priority inheritance: the thread that holds it inherits the priority of a thread that waits for it. A
/// thread with a deadline waits for the call in progress, and not for threads of the priorities between.
class inheriting_mutex {
  public:
    inheriting_mutex(const inheriting_mutex &) = delete;
    inheriting_mutex &operator=(const inheriting_mutex &) = delete;
    explicit inheriting_mutex(const char *owner) {
        pthread_mutexattr_t attributes;
        const bool made = pthread_mutexattr_init(&attributes) == 0 &&
                          pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT) == 0 &&
                          pthread_mutex_init(&mutex_, &attributes) == 0;
        if (made) {
            pthread_mutexattr_destroy(&attributes);
            return;
        }
        print({owner, FLAT_INVALID_ARGUMENT, "the system has no mutex with priority inheritance", nullptr, 0, 0});
        std::abort();
    }
    ~inheriting_mutex() { pthread_mutex_destroy(&mutex_); }
    void lock() noexcept { pthread_mutex_lock(&mutex_); }
    void unlock() noexcept { pthread_mutex_unlock(&mutex_); }

  private:
    pthread_mutex_t mutex_;
};

} // namespace detail

/// One resource for many threads, one call at a time, under a mutex with priority inheritance. In the worst case a call
/// waits for as many calls as there are other threads of its priority, each with the bound of the resource below. The
/// misuse handler runs without the lock. If the system has no such mutex, the constructor prints one line and ends the
/// program.
class FLAT_API locked_resource final : public resource {
  public:
    explicit locked_resource(upstream below = {}) : below_(below) {}
    static constexpr const char *name = "locked_resource";

  private:
    using held = std::lock_guard<detail::inheriting_mutex>;

    void *do_allocate(std::size_t bytes, std::size_t alignment) override {
        const held lock(mutex_);
        return below_.allocate(name, bytes, alignment);
    }
    void *do_try_allocate(std::size_t bytes, std::size_t alignment) noexcept override {
        const held lock(mutex_);
        return below_.try_allocate(bytes, alignment);
    }
    void do_deallocate(void *block, std::size_t bytes, std::size_t alignment) override {
        const flat_status status = do_try_deallocate(block, bytes, alignment);
        if (status != FLAT_OK) detail::report_refused_free(name, status, block, bytes, alignment);
    }
    flat_status do_try_deallocate(void *block, std::size_t bytes, std::size_t alignment) noexcept override {
        const held lock(mutex_);
        return below_.try_deallocate(block, bytes, alignment);
    }
    bool do_owns(const void *address) const noexcept override {
        const held lock(mutex_);
        return below_.owns(address);
    }
    bool do_knows_its_blocks() const noexcept override { return below_.knows_its_blocks(); }

    mutable detail::inheriting_mutex mutex_{name};
    upstream below_;
};

} // namespace flat

#include <flatline/tracking_resource.hpp>

#endif
