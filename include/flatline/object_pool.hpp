// object_pool<T, N>: at most N objects of one type, in storage inside the pool itself.
//
//     static flat::object_pool<Message, 256> messages;       // no code runs at start-up, nothing is mapped
//     Message *message = messages.construct(kind, length);   // null iff 256 are live
//     messages.destroy(message);                             // FLAT_OK, or why it was refused
//
// It works like a pool of one class. The slot that was freed last is used first, then the next one never used. One word
// per slot is free list, double-free check and never-used check. The words are apart from the objects.
#ifndef FLATLINE_OBJECT_POOL_HPP
#define FLATLINE_OBJECT_POOL_HPP

#include <flatline/pool.h>
#include <flatline/sanitizer.h>
#include <flatline/status.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <type_traits>
#include <utility>

namespace flat {

namespace detail {

// AddressSanitizer is told which slots are free; layout and capacity are the same without it.
#if defined(FLAT_ADDRESS_SANITIZER)
inline constexpr bool object_pools_poison = true;
#else
inline constexpr bool object_pools_poison = false;
#endif

/// All of an object_pool except its destructor.
template <class T, std::size_t N> class object_slots {
    static_assert(N >= 1 && N <= FLAT_POOL_MAX_BLOCK_COUNT, "an object_pool has 1 to 16,777,216 slots");
    static_assert(std::is_object_v<T> && !std::is_array_v<T> && !std::is_const_v<T>, "an object_pool holds objects");

  public:
    constexpr object_slots() noexcept = default;
    object_slots(const object_slots &) = delete;
    object_slots &operator=(const object_slots &) = delete;

    /// Constructs an object; null iff N are live. If its constructor throws, the exception is passed on and the slot is
    /// free again. O(1).
    template <class... Arguments> [[nodiscard]] T *construct(Arguments &&...arguments) {
        const std::size_t index = take();
        if (__builtin_expect(index == N, 0)) {
            refused_++;
            return nullptr;
        }
        flat_sanitizer_open(slot(index), sizeof(T));
        unfinished taken{this, index};
        T *object = ::new (static_cast<void *>(slot(index))) T(std::forward<Arguments>(arguments)...);
        taken.pool = nullptr;
        words_[index] = live_word;
        return object;
    }

    /// Destroys an object and frees its slot; null has no effect. FLAT_FOREIGN_POINTER iff the address is outside the
    /// slots, FLAT_INTERIOR_POINTER iff it is inside one but not its start, FLAT_DOUBLE_FREE iff no object lives there:
    /// it was already destroyed, is being constructed or destroyed, or never existed. A refusal changes nothing. O(1),
    /// plus the object's destructor.
    flat_status destroy(T *object) {
        if (object == nullptr) return FLAT_OK;
        const std::uintptr_t offset = offset_of(object);
        if (offset >= sizeof storage_) return FLAT_FOREIGN_POINTER;
        if (offset % sizeof(T) != 0) return FLAT_INTERIOR_POINTER;
        const std::size_t index = offset / sizeof(T);
        if (words_[index] != live_word) return FLAT_DOUBLE_FREE;
        words_[index] = busy_word;
        object->~T();
        give_back(index);
        return FLAT_OK;
    }

    /// Whether `address` is inside a slot, live or free.
    bool owns(const void *address) const noexcept { return offset_of(address) < sizeof storage_; }

    static constexpr std::size_t capacity() noexcept { return N; }

    /// Live objects are counted by walking: O(high-water mark).
    flat_pool_stats stats() const noexcept {
        std::size_t live = 0;
        for (std::size_t i = 0; i < fresh_; i++) live += words_[i] == live_word;
        return {sizeof(T), N, live, fresh_, refused_};
    }

  protected:
    void end_all() {
        for (std::size_t i = 0; i < fresh_; i++) {
            if (words_[i] == live_word) (void)destroy(at(i));
        }
        flat_sanitizer_open(storage_, sizeof storage_);
    }

  private:
    /// A slot's word: live, busy (its constructor or destructor runs), or the next slot of the free list plus 1, 0 for
    /// none. All zero is an empty pool, so that a pool in static storage takes no room in the program's file.
    using word = std::conditional_t<(N < 65534), std::uint16_t, std::uint32_t>;
    static constexpr word live_word = std::numeric_limits<word>::max();
    static constexpr word busy_word = live_word - 1;

    struct unfinished {
        object_slots *pool;
        std::size_t index;
        ~unfinished() {
            if (pool != nullptr) pool->give_back(index);
        }
    };

    unsigned char *slot(std::size_t index) noexcept { return storage_ + index * sizeof(T); }
    T *at(std::size_t index) noexcept { return std::launder(reinterpret_cast<T *>(slot(index))); }
    std::uintptr_t offset_of(const void *address) const noexcept {
        return reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(storage_);
    }

    /// The slot to use next, marked busy; N iff none is free.
    std::size_t take() noexcept {
        std::size_t index = head_;
        if (index != 0) {
            head_ = words_[--index];
        } else if (fresh_ < N) {
            index = fresh_++;
        } else {
            return N;
        }
        words_[index] = busy_word;
        return index;
    }
    void give_back(std::size_t index) noexcept {
        words_[index] = head_;
        head_ = static_cast<word>(index + 1);
        flat_sanitizer_close(slot(index), sizeof(T));
    }

    word head_ = 0;             // the slot freed last plus 1; 0: only slots that were never used are free
    std::size_t fresh_ = 0;     // slots ever used: 0 .. fresh_ - 1; also the most that were ever live at once
    std::uint64_t refused_ = 0; // calls of construct that returned null
    word words_[N] = {};
    alignas(T) unsigned char storage_[N * sizeof(T)] = {};
};

/// Has a destructor only if there is something to destroy: without one, a pool in static storage needs no code at
/// start-up.
template <class T, std::size_t N, bool Ends> class ending_slots : public object_slots<T, N> {
  public:
    ~ending_slots() { this->end_all(); }
};
template <class T, std::size_t N> class ending_slots<T, N, false> : public object_slots<T, N> {};

template <class T> inline constexpr bool has_an_end = object_pools_poison || !std::is_trivially_destructible_v<T>;

} // namespace detail

/// Belongs to one thread at a time. Its destructor destroys the objects that are still live, in the order of their
/// slots.
template <class T, std::size_t N> class object_pool final : public detail::ending_slots<T, N, detail::has_an_end<T>> {};

} // namespace flat

#endif
