// The tubes and jobs of one shard, and what beanstalkd's commands do to them. It calls nothing of the system: the
// caller tells the time, and gets answers as values.
#pragma once

#include "job_table.hpp"

#include <flatline/pool.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace flat::server {

/// The words of the protocol with which a command can end.
enum class Answer : std::uint8_t {
    inserted,
    buried,
    out_of_memory,
    draining,
    done, // without a word
    reserved,
    waiting, // none yet: `Broker::next_ended_wait` tells when there is one
    deadline_soon,
    timed_out,
    deleted,
    released,
    touched,
    kicked,
    found,
    paused,
    not_found
};

/// Of which queue of a tube the first job is shown.
enum class Peek : std::uint8_t { ready, delayed, buried };

/// How many there are, and what happened since the start.
struct BrokerCounts {
    std::uint64_t urgent = 0, ready = 0, reserved = 0, delayed = 0, buried = 0; // jobs
    std::uint64_t tubes = 0, total_jobs = 0, timeouts = 0;

    BrokerCounts &operator+=(const BrokerCounts &other) {
        urgent += other.urgent;
        ready += other.ready;
        reserved += other.reserved;
        delayed += other.delayed;
        buried += other.buried;
        tubes += other.tubes;
        total_jobs += other.total_jobs;
        timeouts += other.timeouts;
        return *this;
    }
};

/// Where a broker takes its memory from; all of it outlives the broker.
struct BrokerMemory {
    flat_pool *jobs;                      // a block holds a job with its body
    flat_pool *tubes;                     // blocks for sizeof(Tube)
    std::span<Job *> table;               // see JobTable
    std::atomic<std::uint64_t> *arrivals; // counts the jobs of all shards
};

/// Functions take the time, which never goes back. `n` is the number of jobs in the queues that a function touches, and
/// `t` that of all tubes and holdings; a queue is a balanced tree, a step on it O(log n) comparisons.
class Broker {
  public:
    explicit Broker(const BrokerMemory &memory) : memory_(memory), table_(memory.table) {}
    Broker(const Broker &) = delete;
    Broker &operator=(const Broker &) = delete;
    ~Broker();

    /// Makes a tube that stays. False: there is no memory for it.
    bool keep(std::string_view name);

    /// Ends what a client has here. Its reserved jobs become ready. O(log n) for each of them, O(log t) for each tube
    /// that it watches. The watches are the caller's again.
    void close(Holdings &holdings, Nanoseconds now);

    /// The block for a job with a body of `size` bytes; null: there is none. It is given to `put` or to `drop`. O(1).
    Job *new_job(std::uint32_t size);
    void drop(Job *job);

    struct Put {
        std::uint32_t priority, delay, time_to_run;
    };
    /// Of a job whose body has come; returns its id. If a client waits for it, that may have deleted it since.
    /// O(log n + log t), and a look at each bucket of the table that is full, of which an eighth can be.
    std::uint64_t put(Tube &tube, Job *job, const Put &how, Nanoseconds now);

    /// The tube of this name, which one more uses; it is made if there is none. Null: there is no memory. O(log t).
    Tube *use(std::string_view name);
    void stop_using(Tube &tube);

    /// Fills in `watch`. out_of_memory: there is none for the tube. O(log t).
    Answer watch(Holdings &holdings, WatchedTube &watch, std::string_view name);
    void stop_watching(Holdings &holdings, WatchedTube &watch);

    /// Of the tubes that it watches. reserved: the job is `holdings.given`. waiting, only if it `waits`:
    /// `next_ended_wait` returns the holdings when it has one, or its deadline is near. O(its watches + log n).
    Answer reserve(Holdings &holdings, bool waits, Nanoseconds now);
    void stop_waiting(Holdings &holdings);
    /// Of a job that is reserved: as if it had not been. O(log n + log t).
    void give_back(Job &job, Nanoseconds now);

    Answer reserve_job(Holdings &holdings, std::uint64_t id, Nanoseconds now);
    /// `holdings` may be null: then of those that nobody has reserved.
    Answer delete_job(const Holdings *holdings, std::uint64_t id);
    Answer release(Holdings &holdings, std::uint64_t id, std::uint32_t priority, std::uint32_t delay, Nanoseconds now);
    Answer bury(Holdings &holdings, std::uint64_t id, std::uint32_t priority);
    Answer touch(Holdings &holdings, std::uint64_t id, Nanoseconds now);
    Answer kick_job(std::uint64_t id, Nanoseconds now);

    /// Makes up to `most` buried jobs ready, or if there is none so many delayed ones; returns their number.
    /// O(log n) for each.
    std::uint64_t kick(Tube &tube, std::uint64_t most, Nanoseconds now);

    Answer pause(std::string_view tube, std::uint32_t delay, Nanoseconds now); // O(log t)

    Job *find(std::uint64_t id) const { return table_.find(id); }
    static Job *first(Tube &tube, Peek of);
    Tube *find_tube(std::string_view name);
    const Tubes &tubes() const { return tubes_; }
    const BrokerCounts &counts() const { return counts_; }

    /// A reply is sent from the job's block, which stays until `end_reading`. O(1).
    void begin_reading(Job &job) { job.readers++; }
    void end_reading(Job &job);

    /// Does what is due. O(log n + log t) for each job that becomes ready, and each wait that ends.
    void run_timers(Nanoseconds now);
    Nanoseconds next_timer() const { return timers_.empty() ? never : timers_.begin()->at; }

    /// The holdings of a client whose wait has ended, each once; null: there is none. `wait_end` and `given` tell how.
    Holdings *next_ended_wait();

  private:
    Tube *tube_of(std::string_view name);
    void leave(Tube &tube);
    void set_timer(Timer &timer, Nanoseconds at);
    void set_timer_of(Tube &tube, Nanoseconds now);
    void set_timer_of(Holdings &holdings);

    void make_ready(Job &job);
    void delay(Job &job, std::uint32_t seconds, Nanoseconds now);
    void take_from_queue(Job &job);
    void reserve_for(Holdings &holdings, Job &job, Nanoseconds now);
    void kick_out(Job &job);
    void serve_again(Tube &tube);
    void serve_waiting(Nanoseconds now);
    void end_wait(Holdings &holdings, WaitEnd how);
    void end_reservations(Holdings &of, Nanoseconds now);
    Job *reserved_by(const Holdings *holdings, std::uint64_t id) const;

    BrokerMemory memory_;
    JobTable table_;
    Tubes tubes_;
    Timers timers_;
    EndedWaits ended_;
    NearDeadlines near_;     // within `run_timers`
    UnservedTubes unserved_; // with jobs that became ready
    BrokerCounts counts_;
    std::uint64_t timer_places_ = 0, burials_ = 0;
};

} // namespace flat::server
