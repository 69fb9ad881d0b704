// What a broker keeps: jobs, tubes and holdings. Each is in one block of a pool, and is linked by members of its own,
// so that no queue needs memory besides.
#pragma once

#include "command.hpp"

#include <boost/intrusive/list.hpp>
#include <boost/intrusive/set.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace flat::server {

using Nanoseconds = std::uint64_t; // since the server was started
inline constexpr Nanoseconds second = 1'000'000'000, never = UINT64_MAX;

struct Tube;
struct Holdings;

enum class JobState : std::uint8_t {
    unborn, // its body is still to come
    ready,
    delayed,
    reserved,
    buried
};

/// At the start of a block; its body follows, and the body's end of line.
struct Job {
    boost::intrusive::set_member_hook<boost::intrusive::optimize_size<true>> queue_hook; // of one queue at a time
    Job *next_in_table = nullptr;
    std::uint64_t id = 0;
    Tube *tube = nullptr;
    Holdings *holder = nullptr; // by which it is reserved
    Nanoseconds created = 0;
    Nanoseconds due = 0; // when a delayed one becomes ready, and a reserved one does again; of a buried one: its place
    std::uint32_t priority = 0, time_to_run = 0, delay = 0; // time in seconds
    std::uint32_t size = 0;                                 // of the body, in bytes
    std::uint32_t reserves = 0, timeouts = 0, releases = 0, buries = 0, kicks = 0;
    std::uint32_t readers = 0; // replies that are sent from the block
    JobState state = JobState::unborn;
    bool is_deleted = false; // it waits for its readers

    /// The body with its end of line, which is `size` + 2 bytes.
    std::span<char> body() { return {reinterpret_cast<char *>(this + 1), size + std::size_t{2}}; }
};

struct ByPriority {
    bool operator()(const Job &one, const Job &other) const {
        return one.priority != other.priority ? one.priority < other.priority : one.id < other.id;
    }
};

struct ByDue {
    bool operator()(const Job &one, const Job &other) const {
        return one.due != other.due ? one.due < other.due : one.id < other.id;
    }
};

template <class Order>
using JobQueue =
    boost::intrusive::set<Job, boost::intrusive::member_hook<Job, decltype(Job::queue_hook), &Job::queue_hook>,
                          boost::intrusive::compare<Order>>;

/// Something that is to happen at a time: of a broker, its tubes and holdings; of a shard, how long its clients wait,
/// and are waited for. Each looks at the first of its own.
struct Timer {
    enum class Kind : std::uint8_t { tube, holdings, wait, turn };

    boost::intrusive::set_member_hook<> hook;
    Nanoseconds at = never;  // in the broker's queue iff it is another
    std::uint64_t place = 0; // among timers of the same time
    Kind kind;

    explicit Timer(Kind of) : kind(of) {}
};

struct BySoonest {
    bool operator()(const Timer &one, const Timer &other) const {
        return one.at != other.at ? one.at < other.at : one.place < other.place;
    }
};

using Timers = boost::intrusive::set<Timer, boost::intrusive::member_hook<Timer, decltype(Timer::hook), &Timer::hook>,
                                     boost::intrusive::compare<BySoonest>>;

/// That a client watches a tube. `client_hook` is its home's, the others are the tube's shard's.
struct WatchedTube {
    boost::intrusive::list_member_hook<> client_hook, holdings_hook, waiting_hook;
    Holdings *holdings = nullptr;
    Tube *tube = nullptr;
};

template <auto Hook>
using Watches =
    boost::intrusive::list<WatchedTube,
                           boost::intrusive::member_hook<WatchedTube, boost::intrusive::list_member_hook<>, Hook>>;

struct Tube {
    Timer timer{Timer::Kind::tube}; // its first delayed job, or the end of its pause
    boost::intrusive::set_member_hook<> name_hook;
    boost::intrusive::list_member_hook<> unserved_hook;
    JobQueue<ByPriority> ready;
    JobQueue<ByDue> delayed, buried;
    Watches<&WatchedTube::waiting_hook> waiting; // the one that waits longest first
    Nanoseconds paused_until = 0;
    std::uint32_t pause = 0; // the last one, in seconds
    std::uint32_t users = 0, watchers = 0;
    std::uint64_t urgent = 0, reserved = 0; // jobs
    std::uint64_t created_jobs = 0, deletes = 0, pauses = 0;
    bool stays = false;    // with nobody and nothing in it
    std::uint8_t slot = 0; // of its name: see `slot_of`
    std::uint8_t name_size = 0;
    std::array<char, longest_tube_name> name_bytes;

    std::string_view name() const { return {name_bytes.data(), name_size}; }
};

/// Tubes are spread over this many slots by their names, and slots over shards: slot number s is on shard s modulo
/// their number. A job's id is a multiple of it and its tube's slot, so that it tells the shard, whatever their number
/// is.
inline constexpr std::uint64_t slots = 64;

/// FNV-1a, 64 bits (http://www.isthe.com/chongo/tech/comp/fnv/), its halves folded.
constexpr std::uint8_t slot_of(std::string_view name) {
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const char each : name) hash = (hash ^ static_cast<unsigned char>(each)) * 0x100000001b3;
    return static_cast<std::uint8_t>((hash ^ hash >> 32) % slots);
}

struct ByName {
    bool operator()(const Tube &one, const Tube &other) const { return one.name() < other.name(); }
    bool operator()(std::string_view one, const Tube &other) const { return one < other.name(); }
    bool operator()(const Tube &one, std::string_view other) const { return one.name() < other; }
};

using Tubes =
    boost::intrusive::set<Tube, boost::intrusive::member_hook<Tube, decltype(Tube::name_hook), &Tube::name_hook>,
                          boost::intrusive::compare<ByName>>;

using UnservedTubes =
    boost::intrusive::list<Tube,
                           boost::intrusive::member_hook<Tube, decltype(Tube::unserved_hook), &Tube::unserved_hook>>;

/// How the wait of a client ended.
enum class WaitEnd : std::uint8_t { reserved, deadline_soon };

/// What one client watches and has reserved at one shard.
struct Holdings {
    Timer timer{Timer::Kind::holdings}; // its first job whose time runs out, or of which it is to be told before
    boost::intrusive::list_member_hook<> ended_hook, near_hook;
    Watches<&WatchedTube::holdings_hook> watches;
    JobQueue<ByDue> reserved;
    void *client = nullptr; // the broker does not look at it
    Job *given = nullptr;   // by the wait that ended
    WaitEnd wait_end = WaitEnd::reserved;
    bool is_waiting = false;
};

template <auto Hook>
using HoldingsList =
    boost::intrusive::list<Holdings,
                           boost::intrusive::member_hook<Holdings, boost::intrusive::list_member_hook<>, Hook>>;
using EndedWaits = HoldingsList<&Holdings::ended_hook>;
using NearDeadlines = HoldingsList<&Holdings::near_hook>;

} // namespace flat::server
