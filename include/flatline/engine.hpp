// The engine (<flatline/engine.h>) for C++: tasks are lambdas, and nothing is allocated after the start.
//
//     flat::engine engine;                                   engine.start(options) makes it; destroyed at scope's end
//     flat::submitter lanes;                                 lanes.attach(engine) takes a lane for this thread
//     lanes.submit(0, [=](flat::worker &here) { ... });      FLAT_OK, or the limit that was met
//
//     flat::completion<double> price;                        a handle for one task at a time
//     lanes.submit(0, price, [=] { return value(order); });  the result is left in the task's block
//     lanes.wait(price, until_ns)                            FLAT_OK: price.outcome(), price.result()
//
// A callable that is trivially copyable and has at most FLAT_ENGINE_INLINE_BYTES bytes travels in the descriptor. Any
// other one is constructed in a granted block, and destroyed there exactly once, by the worker: after it ran, or
// without a run if the task expires or is cancelled. If a submit is refused, it is destroyed at once, or was never
// constructed.
//
// A task that throws ends the program (std::terminate). Refusals are values. Nothing here throws, except for what the
// callable's own copy or move constructor throws.
//
// Threads: as in <flatline/engine.h>. A completion belongs to the thread of its submitter.
#ifndef FLATLINE_ENGINE_HPP
#define FLATLINE_ENGINE_HPP

#include <flatline/engine.h>
#include <flatline/memory.h>
#include <flatline/pool.h>
#include <flatline/status.h>

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

namespace flat {

/// An array of somebody else's, for the time of a call: from a C array, or from a container with data() and size().
template <class T> class array_view {
  public:
    constexpr array_view() noexcept = default;
    constexpr array_view(const T *start, std::size_t size) noexcept : start_(start), size_(size) {}
    template <std::size_t N> constexpr array_view(const T (&array)[N]) noexcept : start_(array), size_(N) {}
    template <
        class Container,
        class = std::enable_if_t<std::is_convertible_v<decltype(std::declval<const Container &>().data()), const T *>>,
        class = decltype(std::declval<const Container &>().size())>
    constexpr array_view(const Container &container) noexcept : start_(container.data()), size_(container.size()) {}

    constexpr const T *data() const noexcept { return size_ != 0 ? start_ : nullptr; }
    constexpr std::size_t size() const noexcept { return size_; }

  private:
    const T *start_ = nullptr;
    std::size_t size_ = 0;
};

/// As `flat_engine_options`, whose comments hold. The arrays are read during the call only.
struct engine_options {
    std::size_t worker_count = 0; ///< 0: as many as `workers` has, or else one
    array_view<flat_class> classes = {};
    array_view<flat_class_limits> class_limits = {}; ///< none, or one for each class
    flat_class_limits inline_limits = {};
    array_view<flat_worker_options> workers = {}; ///< none, or one for each worker
    std::size_t lane_count = 0;
    flat_waiting waiting = FLAT_WAITING_DEFAULT;
    std::uint64_t spin_ns = 0;
    std::size_t stack_size = 0;
    unsigned starvation_limit = 0;
    bool caller_runs_workers = false;
    std::uint64_t watchdog_ns = 0;
    flat_overrun_function *overrun = nullptr;
    void *overrun_context = nullptr;
    const flat_region_options *region = nullptr;
    char *message = nullptr;
    std::size_t message_size = 0;
};

/// An engine, which it owns; empty until `start` succeeds. Move only.
class engine {
  public:
    engine() noexcept = default;
    engine(engine &&other) noexcept : engine_(std::exchange(other.engine_, nullptr)) {}
    engine &operator=(engine &&other) noexcept {
        if (this != &other) {
            flat_engine_destroy(engine_);
            engine_ = std::exchange(other.engine_, nullptr);
        }
        return *this;
    }
    ~engine() { flat_engine_destroy(engine_); }

    /// `flat_engine_create`, which says how it fails; also FLAT_INVALID_ARGUMENT iff there is an engine already, or
    /// `class_limits` or `workers` has another size than none and the one that it must have.
    [[nodiscard]] flat_status start(const engine_options &options) noexcept {
        flat_engine_options in_c = {};
        const flat_status status = convert(options, in_c);
        return status == FLAT_OK ? flat_engine_create(&engine_, &in_c) : status;
    }

    /// The same in the caller's memory: `flat_engine_init`.
    [[nodiscard]] flat_status start(const engine_options &options, flat_memory metadata, flat_memory blocks) noexcept {
        flat_engine_options in_c = {};
        const flat_status status = convert(options, in_c);
        return status == FLAT_OK ? flat_engine_init(&engine_, &in_c, metadata, blocks) : status;
    }

    std::uint64_t now() const noexcept { return flat_engine_now(engine_); }
    [[nodiscard]] flat_status drain(std::uint64_t within_ns) noexcept { return flat_engine_drain(engine_, within_ns); }
    [[nodiscard]] flat_status stop(std::uint64_t within_ns) noexcept { return flat_engine_stop(engine_, within_ns); }
    void resume() noexcept { flat_engine_resume(engine_); }
    [[nodiscard]] flat_status run(std::size_t worker) noexcept { return flat_engine_run(engine_, worker); }
    bool step(std::size_t worker) noexcept { return flat_engine_step(engine_, worker); }
    void end() noexcept { flat_engine_end(engine_); }

    /// For the functions of <flatline/engine.h>; null while it is empty.
    flat_engine *get() const noexcept { return engine_; }

  private:
    flat_status convert(const engine_options &from, flat_engine_options &to) const noexcept {
        const std::size_t workers = from.workers.size(), limits = from.class_limits.size();
        to.worker_count = from.worker_count != 0 ? from.worker_count : workers != 0 ? workers : 1;
        if (engine_ != nullptr || (workers != 0 && workers != to.worker_count) ||
            (limits != 0 && limits != from.classes.size())) {
            return FLAT_INVALID_ARGUMENT;
        }
        to.classes = from.classes.data();
        to.class_count = from.classes.size();
        to.class_limits = from.class_limits.data();
        to.inline_limits = from.inline_limits;
        to.workers = from.workers.data();
        to.lane_count = from.lane_count;
        to.waiting = from.waiting;
        to.spin_ns = from.spin_ns;
        to.stack_size = from.stack_size;
        to.starvation_limit = from.starvation_limit;
        to.caller_runs_workers = from.caller_runs_workers;
        to.watchdog_ns = from.watchdog_ns;
        to.overrun = from.overrun;
        to.overrun_context = from.overrun_context;
        to.region = from.region;
        to.message = from.message;
        to.message_size = from.message_size;
        return FLAT_OK;
    }

    flat_engine *engine_ = nullptr;
};

/// As the members of `flat_task` with these names.
struct task_options {
    unsigned urgency = 0;
    unsigned type = 0;
    std::uint64_t deadline_ns = 0;
    std::uint64_t start_ns = 0;
    bool completion = false; ///< to be polled with a function; one with a handle needs none of this
    void *context = nullptr; ///< comes back in that completion
    flat_ticket *ticket = nullptr;
};

class submitter_ref;
class worker;
template <class Result> class completion;

namespace detail {

template <class Work> inline constexpr bool takes_worker = std::is_invocable_v<Work &, worker &>;

/// What a callable returns; only for one that can be a task.
template <class Work, bool = takes_worker<Work>> struct result_of {
    using type = std::invoke_result_t<Work &, worker &>;
};
template <class Work> struct result_of<Work, false> {
    using type = std::invoke_result_t<Work &>;
};

template <class Work>
inline constexpr bool travels_in_the_descriptor =
    std::is_trivially_copyable_v<Work> && sizeof(Work) <= FLAT_ENGINE_INLINE_BYTES;

inline constexpr std::size_t payload_alignment = FLAT_POOL_GRANULE;

} // namespace detail

/// Whether a callable can be a task: it can be called with `flat::worker &` or with nothing, and needs no alignment
/// above 16 bytes, which is what every payload has.
template <class Callable>
inline constexpr bool is_task_v =
    alignof(std::decay_t<Callable>) <= detail::payload_alignment &&
    (detail::takes_worker<std::decay_t<Callable>> || std::is_invocable_v<std::decay_t<Callable> &>);

namespace detail {

/// The part of a completion that does not depend on the result's type. While a task is in flight, its block names the
/// handle and the handle its block; only the submitter's thread reads and writes these two words.
class completion_handle {
  public:
    struct header {
        completion_handle *handle; // null: it was given up
    };

    completion_handle() noexcept = default;
    completion_handle(completion_handle &&other) noexcept { take(other); }
    completion_handle &operator=(completion_handle &&other) noexcept {
        if (this != &other) {
            reset();
            take(other);
        }
        return *this;
    }
    ~completion_handle() { reset(); }

    /// Whether it has a task, done or not.
    bool valid() const noexcept { return block_ != nullptr; }

    /// Whether the task was done, expired or cancelled when completions were last polled.
    bool ready() const noexcept { return is_ready_; }

    /// How the task ended; FLAT_TASK_DONE also while it is not `ready`.
    flat_outcome outcome() const noexcept { return outcome_; }

    flat_ticket ticket() const noexcept { return ticket_; }

    /// `flat_engine_cancel`; FLAT_STALE_TICKET also if there is no task, or it is `ready`.
    [[nodiscard]] flat_status cancel() noexcept {
        return valid() && !is_ready_ ? flat_engine_cancel(submitter_, ticket_) : FLAT_STALE_TICKET;
    }

    /// Gives the task up: a grant that has come back is free now, and one that is in flight when its completion is
    /// polled. The task itself is not cancelled.
    void reset() noexcept {
        if (block_ == nullptr) return;
        if (is_ready_) {
            (void)flat_engine_release(submitter_, block_);
        } else {
            block_->handle = nullptr;
        }
        forget();
    }

  protected:
    header *block() const noexcept { return block_; }

  private:
    friend class flat::submitter_ref;

    void begin(flat_submitter *submitter, header *block, flat_ticket ticket) noexcept {
        submitter_ = submitter;
        block_ = block;
        block_->handle = this;
        ticket_ = ticket;
    }

    /// The task is done, and the submitter holds its block again.
    void end(flat_outcome outcome) noexcept {
        outcome_ = outcome;
        is_ready_ = true;
    }

    void take(completion_handle &other) noexcept {
        submitter_ = other.submitter_;
        block_ = other.block_;
        ticket_ = other.ticket_;
        outcome_ = other.outcome_;
        is_ready_ = other.is_ready_;
        if (block_ != nullptr && !is_ready_) block_->handle = this;
        other.forget();
    }
    void forget() noexcept {
        block_ = nullptr;
        ticket_ = 0;
        outcome_ = FLAT_TASK_DONE;
        is_ready_ = false;
    }

    flat_submitter *submitter_ = nullptr;
    header *block_ = nullptr;
    flat_ticket ticket_ = 0;
    flat_outcome outcome_ = FLAT_TASK_DONE;
    bool is_ready_ = false;
};

/// Its address is the context of the tasks that have a handle, which tells their completions from others.
FLAT_API inline char of_a_handle = 0;

/// What is in the block of a task with a handle. The result is constructed beside the callable: it is never moved.
template <class Result> struct result_block : completion_handle::header {
    alignas(Result) unsigned char result[sizeof(Result)];
};
template <> struct result_block<void> : completion_handle::header {};

template <class Work, class Result> struct completing_block : result_block<Result> {
    alignas(Work) unsigned char work[sizeof(Work)];
};

} // namespace detail

/// What a task knows of its worker; made for each run, and valid until the task returns.
class worker {
  public:
    explicit worker(flat_worker *here) noexcept : here_(here) {}
    worker(const worker &) = delete;
    worker &operator=(const worker &) = delete;

    std::size_t number() const noexcept { return flat_engine_worker(here_); }

    /// The worker's own pool, for this task and no longer: `flat::pool_resource memory(here.pool());`
    flat_pool &pool() const noexcept { return *flat_engine_pool(here_); }

    /// The worker's lanes to all workers.
    submitter_ref lanes() const noexcept;

    /// `flat_engine_defer`. A callable that is run again is the same object: what it changed of itself it finds again.
    /// What it returns this time is dropped.
    [[nodiscard]] flat_status defer(std::uint64_t delay_ns) noexcept {
        const flat_status status = flat_engine_defer(here_, delay_ns);
        if (status == FLAT_OK) deferred_ = true;
        return status;
    }

    std::uint64_t now() const noexcept { return flat_engine_now(flat_engine_of(here_)); }

    /// For the functions of <flatline/engine.h>, except `flat_engine_defer`: the callable would be destroyed.
    flat_worker *get() const noexcept { return here_; }
    bool is_deferred() const noexcept { return deferred_; }

  private:
    flat_worker *here_;
    bool deferred_ = false;
};

/// A handle for one task at a time, and the owner of its block from the task's end until `reset`, a move, the next
/// submit or its destruction. The result was left in the block. Must not outlive its submitter. Move only.
template <class Result = void> class completion : public detail::completion_handle {
    static_assert(std::is_trivially_destructible_v<Result>, "the result is left in a block, and is not destroyed");

  public:
    /// The result; null unless the task is `ready` and done.
    Result *result() noexcept {
        if (!ready() || outcome() != FLAT_TASK_DONE) return nullptr;
        auto *in = static_cast<detail::result_block<Result> *>(block());
        return std::launder(reinterpret_cast<Result *>(static_cast<void *>(in->result)));
    }
};
template <> class completion<void> : public detail::completion_handle {};

namespace detail {

template <class Work> decltype(auto) call(Work &work, worker &here) {
    if constexpr (takes_worker<Work>) {
        return work(here);
    } else {
        return work();
    }
}

template <class Work> Work &work_at(void *place) noexcept { return *std::launder(static_cast<Work *>(place)); }

/// Runs a callable that needs no destruction.
template <class Work> void run_in_descriptor(flat_worker *in, void *payload, std::size_t) noexcept {
    worker here(in);
    static_cast<void>(call(work_at<Work>(payload), here));
}

/// Runs a callable in a block unless the task expired or was cancelled, and destroys it unless it is to run again.
template <class Work> void run_in_block(flat_worker *in, void *payload, std::size_t) noexcept {
    worker here(in);
    Work &work = work_at<Work>(payload);
    if (flat_engine_outcome(in) == FLAT_TASK_DONE) static_cast<void>(call(work, here));
    if (!here.is_deferred()) work.~Work();
}

/// The same, with the result left in the block.
template <class Work, class Result> void run_to_completion(flat_worker *in, void *payload, std::size_t) noexcept {
    using block = completing_block<Work, Result>;
    worker here(in);
    block *const of = static_cast<block *>(payload);
    Work &work = work_at<Work>(of->work);
    if (flat_engine_outcome(in) == FLAT_TASK_DONE) {
        if constexpr (std::is_void_v<Result>) {
            call(work, here);
        } else {
            ::new (static_cast<void *>(of->result)) Result(call(work, here));
        }
    }
    if (!here.is_deferred()) work.~Work();
}

/// A grant that goes back unless its task was accepted. With FLAT_ANY_WORKER it is of the worker that the engine's
/// policy chooses for the task.
struct held_grant {
    flat_submitter *submitter;
    void *block;
    held_grant(flat_submitter *of, std::size_t number, const flat_task &task, std::size_t size) noexcept
        : submitter(of), block(flat_engine_grant(
                             of, number == FLAT_ANY_WORKER ? flat_engine_dispatch(of, &task, size) : number, size)) {}
    held_grant(const held_grant &) = delete;
    held_grant &operator=(const held_grant &) = delete;
    ~held_grant() {
        if (block != nullptr) (void)flat_engine_release(submitter, block);
    }

    /// Why there is none.
    flat_status refusal(std::size_t number, std::size_t size) const noexcept {
        return flat_engine_grants(submitter, number, size) != 0 ? FLAT_NO_GRANT : FLAT_INVALID_ARGUMENT;
    }
    flat_status post(const flat_task &task) noexcept {
        const flat_status status = flat_engine_post(submitter, block, &task);
        if (status == FLAT_OK) block = nullptr;
        return status;
    }
};

/// For a completion that has no handle, where nobody asks for them.
struct ignore_completion {
    void operator()(const flat_completion &) const noexcept {}
};

} // namespace detail

/// A submitter that somebody else owns: a `flat::submitter`, or a worker with its lanes.
class submitter_ref {
  public:
    explicit submitter_ref(flat_submitter *submitter) noexcept : submitter_(submitter) {}

    /// Submits a task that runs the callable. Fails as `flat_engine_submit` does. The callable is moved or copied only
    /// if there is a grant for it. Unless the worker is FLAT_ANY_WORKER: no loop, no lock, no call but those of its
    /// constructor and, where the worker sleeps, one to wake it.
    template <class Callable>
    [[nodiscard]] flat_status submit(
        std::size_t number, Callable &&callable,
        const task_options &options = {}) noexcept(std::is_nothrow_constructible_v<std::decay_t<Callable>, Callable>) {
        using work = std::decay_t<Callable>;
        check<Callable>();
        if constexpr (detail::travels_in_the_descriptor<work>) {
            const work copied(std::forward<Callable>(callable));
            const flat_task task = task_of(detail::run_in_descriptor<work>, options);
            return flat_engine_submit(submitter_, number, &task, &copied, sizeof copied);
        } else {
            flat_task task = task_of(detail::run_in_block<work>, options);
            task.always_run = !std::is_trivially_destructible_v<work>;
            detail::held_grant grant(submitter_, number, task, sizeof(work));
            if (grant.block == nullptr) return grant.refusal(number, sizeof(work));
            work *const placed = ::new (grant.block) work(std::forward<Callable>(callable));
            const flat_status status = grant.post(task);
            if (status != FLAT_OK) placed->~work();
            return status;
        }
    }

    /// The same, with a handle that tells how the task ended and has its result. What the handle had before is given
    /// up. The callable is always in a block, and `completion` and `context` are not for this.
    template <class Result, class Callable>
    [[nodiscard]] flat_status submit(
        std::size_t number, completion<Result> &handle, Callable &&callable,
        const task_options &options = {}) noexcept(std::is_nothrow_constructible_v<std::decay_t<Callable>, Callable>) {
        using work = std::decay_t<Callable>;
        using block = detail::completing_block<work, Result>;
        check<Callable>();
        static_assert(alignof(block) <= detail::payload_alignment, "a result needs at most an alignment of 16 bytes");
        static_assert(std::is_void_v<Result> || std::is_convertible_v<typename detail::result_of<work>::type, Result>,
                      "the callable returns the handle's type of result");
        handle.reset();
        flat_ticket ticket = 0;
        flat_task task = task_of(detail::run_to_completion<work, Result>, options);
        task.always_run = !std::is_trivially_destructible_v<work>;
        task.completion = true;
        task.context = &detail::of_a_handle;
        task.ticket = &ticket;
        detail::held_grant grant(submitter_, number, task, sizeof(block));
        if (grant.block == nullptr) return grant.refusal(number, sizeof(block));
        block *const placed = ::new (grant.block) block;
        work *const inside = ::new (static_cast<void *>(placed->work)) work(std::forward<Callable>(callable));
        const flat_status status = grant.post(task);
        if (status != FLAT_OK) {
            inside->~work();
            return status;
        }
        handle.begin(submitter_, placed, ticket);
        if (options.ticket != nullptr) *options.ticket = ticket;
        return FLAT_OK;
    }

    /// Takes all completions that have come: handles become `ready`, and `other` is called with each completion of a
    /// task without a handle. Returns their number. O(workers + completions).
    template <class Other = detail::ignore_completion> std::size_t poll(Other &&other = {}) {
        std::size_t taken = 0;
        flat_completion done;
        for (; flat_engine_poll(submitter_, &done, 1) != 0; taken++) {
            if (done.context == &detail::of_a_handle) {
                settle(done);
            } else {
                other(static_cast<const flat_completion &>(done));
            }
        }
        return taken;
    }

    /// Waits until the handle is `ready`, and takes the completions of other handles on the way; those without a handle
    /// are dropped. FLAT_TIMED_OUT iff it is not by `until_ns`; FLAT_INVALID_ARGUMENT iff it has no task, or this is a
    /// worker's.
    [[nodiscard]] flat_status wait(const detail::completion_handle &handle, std::uint64_t until_ns) noexcept {
        if (!handle.valid()) return FLAT_INVALID_ARGUMENT;
        for (;;) {
            poll();
            if (handle.ready()) return FLAT_OK;
            const flat_status status = flat_engine_wait(submitter_, until_ns);
            if (status != FLAT_OK) return status;
        }
    }

    /// `flat_engine_cancel`.
    [[nodiscard]] flat_status cancel(flat_ticket ticket) noexcept { return flat_engine_cancel(submitter_, ticket); }

    /// For the functions of <flatline/engine.h>.
    flat_submitter *get() const noexcept { return submitter_; }

  protected:
    flat_submitter *submitter_;

  private:
    template <class Callable> static constexpr void check() noexcept {
        using work = std::decay_t<Callable>;
        static_assert(alignof(work) <= detail::payload_alignment,
                      "a task needs at most an alignment of 16 bytes: its payload has no more");
        static_assert(is_task_v<Callable>, "a task is called with `flat::worker &` or with nothing");
    }

    static flat_task task_of(flat_task_function *run, const task_options &options) noexcept {
        flat_task task = {};
        task.run = run;
        task.urgency = options.urgency;
        task.type = options.type;
        task.completion = options.completion;
        task.deadline_ns = options.deadline_ns;
        task.start_ns = options.start_ns;
        task.context = options.context;
        task.ticket = options.ticket;
        return task;
    }

    /// A handle keeps the block; without one the grant is back already.
    void settle(const flat_completion &done) noexcept {
        detail::completion_handle *handle = static_cast<detail::completion_handle::header *>(done.payload)->handle;
        if (handle != nullptr && flat_engine_keep(submitter_, done.payload) == FLAT_OK) handle->end(done.outcome);
    }
};

inline submitter_ref worker::lanes() const noexcept { return submitter_ref(flat_engine_submitter(here_)); }

/// The lanes of one thread to all workers, which it owns; empty until `attach` succeeds. Move only, on its thread.
class submitter : public submitter_ref {
  public:
    submitter() noexcept : submitter_ref(nullptr) {}
    submitter(submitter &&other) noexcept : submitter_ref(std::exchange(other.submitter_, nullptr)) {}
    submitter &operator=(submitter &&other) noexcept {
        if (this != &other) {
            flat_engine_unregister(submitter_);
            submitter_ = std::exchange(other.submitter_, nullptr);
        }
        return *this;
    }
    ~submitter() { flat_engine_unregister(submitter_); }

    /// `flat_engine_register`, which says how it fails; also FLAT_INVALID_ARGUMENT iff it is attached already.
    [[nodiscard]] flat_status attach(const engine &to) noexcept {
        return submitter_ == nullptr ? flat_engine_register(to.get(), &submitter_) : FLAT_INVALID_ARGUMENT;
    }

    /// `flat_engine_unregister`: tasks in flight run. Every completion handle must have been reset before.
    void detach() noexcept { flat_engine_unregister(std::exchange(submitter_, nullptr)); }
};

} // namespace flat

#endif
