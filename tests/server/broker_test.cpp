// A broker beside a plain model of it: lists that are looked through from end to end, in a time that the test makes
// pass.
#include "server/broker.hpp"

#include "pools.hpp"

#include "core/environment.hpp"
#include "core/random_source.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace {

using namespace flat::server;

// A broker with its memory.
struct Fixture {
    explicit Fixture(std::size_t jobs = 4096, std::size_t tubes = 16)
        : job_pool(test::make_pool(sizeof(Job) + 64, jobs)), tube_pool(test::make_pool(sizeof(Tube), tubes)),
          table(jobs / 4), broker({job_pool.get(), tube_pool.get(), table, &arrivals}) {}

    std::uint64_t put(Tube &tube, const Broker::Put &how, Nanoseconds now) {
        Job *job = broker.new_job(2);
        if (job == nullptr) throw std::runtime_error("no block");
        return broker.put(tube, job, how, now);
    }

    test::owned_pool job_pool, tube_pool;
    std::vector<Job *> table;
    std::atomic<std::uint64_t> arrivals{1};
    Broker broker;
};

// The holdings of a client, and its watches.
struct Client {
    void watch(Broker &broker, const char *name) {
        ASSERT_EQ(broker.watch(holdings, watches.emplace_back(), name), Answer::done);
    }

    Holdings holdings;
    std::list<WatchedTube> watches;
};

} // namespace

TEST(broker, a_reserved_job_is_ready_again_when_its_time_has_run_out) {
    Fixture all;
    Tube &tube = *all.broker.use("a");
    Client client, other;
    client.watch(all.broker, "a");
    other.watch(all.broker, "a");
    const std::uint64_t id = all.put(tube, {5, 0, 3}, 0);
    ASSERT_EQ(all.broker.reserve(client.holdings, false, second), Answer::reserved);
    EXPECT_EQ(client.holdings.given->id, id);
    EXPECT_EQ(all.broker.next_timer(), 4 * second);
    all.broker.run_timers(4 * second - 1);
    EXPECT_EQ(all.broker.reserve(other.holdings, false, 4 * second - 1), Answer::timed_out);
    all.broker.run_timers(4 * second);
    EXPECT_EQ(all.broker.counts().timeouts, 1u);
    EXPECT_EQ(all.broker.delete_job(&client.holdings, id), Answer::deleted) << "as anyone may";
    all.broker.close(client.holdings, 0);
    all.broker.close(other.holdings, 0);
}

TEST(broker, a_touched_job_has_its_time_from_then_on) {
    Fixture all;
    Tube &tube = *all.broker.use("a");
    Client client;
    client.watch(all.broker, "a");
    const std::uint64_t id = all.put(tube, {5, 0, 3}, 0);
    ASSERT_EQ(all.broker.reserve(client.holdings, false, 0), Answer::reserved);
    EXPECT_EQ(all.broker.touch(client.holdings, id, 2 * second), Answer::touched);
    EXPECT_EQ(all.broker.next_timer(), 5 * second);
    all.broker.run_timers(5 * second);
    EXPECT_EQ(all.broker.touch(client.holdings, id, 5 * second), Answer::not_found);
    all.broker.close(client.holdings, 0);
}

TEST(broker, whoever_reserves_is_told_a_second_before_its_time_runs_out) {
    Fixture all;
    Tube &tube = *all.broker.use("a");
    Client client;
    client.watch(all.broker, "a");
    (void)all.put(tube, {5, 0, 3}, 0);
    ASSERT_EQ(all.broker.reserve(client.holdings, false, 0), Answer::reserved);
    EXPECT_EQ(all.broker.reserve(client.holdings, false, 2 * second - 1), Answer::timed_out);
    EXPECT_EQ(all.broker.reserve(client.holdings, false, 2 * second), Answer::deadline_soon);
    ASSERT_EQ(all.broker.reserve(client.holdings, true, second), Answer::waiting);
    EXPECT_EQ(all.broker.next_timer(), 2 * second);
    all.broker.run_timers(2 * second);
    ASSERT_EQ(all.broker.next_ended_wait(), &client.holdings);
    EXPECT_EQ(client.holdings.wait_end, WaitEnd::deadline_soon);
    EXPECT_EQ(all.broker.next_ended_wait(), nullptr);
    EXPECT_EQ(all.broker.next_timer(), 3 * second);
    all.broker.close(client.holdings, 0);
}

TEST(broker, a_job_that_is_ready_comes_before_a_deadline) {
    Fixture all;
    Tube &tube = *all.broker.use("a");
    Client client;
    client.watch(all.broker, "a");
    (void)all.put(tube, {5, 0, 1}, 0);
    (void)all.put(tube, {5, 0, 1}, 0);
    ASSERT_EQ(all.broker.reserve(client.holdings, false, 0), Answer::reserved);
    EXPECT_EQ(all.broker.reserve(client.holdings, false, 0), Answer::reserved);
    EXPECT_EQ(all.broker.reserve(client.holdings, false, 0), Answer::deadline_soon);
    all.broker.close(client.holdings, 0);
}

TEST(broker, a_delayed_job_and_a_paused_tube_are_served_in_time) {
    Fixture all;
    Tube &tube = *all.broker.use("a");
    Client client;
    client.watch(all.broker, "a");
    const std::uint64_t late = all.put(tube, {0, 7, 100}, 0), soon = all.put(tube, {9, 5, 100}, 0);
    ASSERT_EQ(all.broker.reserve(client.holdings, true, 0), Answer::waiting);
    ASSERT_EQ(all.broker.pause("a", 8, 0), Answer::paused);
    EXPECT_EQ(all.broker.next_timer(), 5 * second);
    all.broker.run_timers(7 * second);
    EXPECT_EQ(all.broker.next_ended_wait(), nullptr);
    EXPECT_EQ(all.broker.next_timer(), 8 * second);
    all.broker.run_timers(8 * second);
    ASSERT_EQ(all.broker.next_ended_wait(), &client.holdings);
    EXPECT_EQ(client.holdings.given->id, late);
    EXPECT_EQ(all.broker.find(soon)->state, JobState::ready);
    all.broker.close(client.holdings, 0);
}

TEST(broker, a_tube_is_there_while_it_is_used_or_watched_or_has_a_job) {
    Fixture all(64, 1);
    Tube *tube = all.broker.use("a");
    ASSERT_NE(tube, nullptr);
    EXPECT_EQ(all.broker.use("b"), nullptr) << "there is memory for one";
    const std::uint64_t id = all.put(*tube, {0, 0, 1}, 0);
    all.broker.stop_using(*tube);
    EXPECT_NE(all.broker.find_tube("a"), nullptr);
    EXPECT_EQ(all.broker.delete_job(nullptr, id), Answer::deleted);
    EXPECT_EQ(all.broker.find_tube("a"), nullptr);
    EXPECT_EQ(all.broker.counts().tubes, 0u);
    Client client;
    client.watch(all.broker, "b");
    EXPECT_EQ(all.broker.use("a"), nullptr);
    all.broker.close(client.holdings, 0);
    ASSERT_TRUE(all.broker.keep("a"));
    all.broker.stop_using(*all.broker.use("a"));
    EXPECT_NE(all.broker.find_tube("a"), nullptr);
}

TEST(broker, a_tube_stays_for_jobs_in_any_state) {
    Fixture all;
    Client client;
    client.watch(all.broker, "z");
    for (const JobState state : {JobState::ready, JobState::delayed, JobState::reserved, JobState::buried}) {
        Tube &tube = *all.broker.use("a");
        const std::uint64_t id = all.put(tube, {0, state == JobState::delayed ? 1u : 0u, 1}, 0);
        if (state == JobState::reserved || state == JobState::buried) {
            ASSERT_EQ(all.broker.reserve_job(client.holdings, id, 0), Answer::reserved);
        }
        if (state == JobState::buried) {
            ASSERT_EQ(all.broker.bury(client.holdings, id, 0), Answer::buried);
        }
        all.broker.stop_using(tube);
        ASSERT_EQ(all.broker.find_tube("a"), &tube);
        ASSERT_EQ(all.broker.find(id)->state, state);
        ASSERT_EQ(all.broker.delete_job(&client.holdings, id), Answer::deleted);
        ASSERT_EQ(all.broker.find_tube("a"), nullptr);
    }
    all.broker.close(client.holdings, 0);
}

TEST(broker, of_kicked_jobs_one_that_waits_gets_the_first) {
    Fixture all;
    Tube &tube = *all.broker.use("a");
    Client client, waiting;
    client.watch(all.broker, "a");
    waiting.watch(all.broker, "a");
    const std::uint64_t first = all.put(tube, {9, 0, 100}, 0), second_one = all.put(tube, {1, 0, 100}, 0);
    for (const std::uint64_t id : {first, second_one}) {
        ASSERT_EQ(all.broker.reserve_job(client.holdings, id, 0), Answer::reserved);
        ASSERT_EQ(all.broker.bury(client.holdings, id, id == first ? 9 : 1), Answer::buried);
    }
    ASSERT_EQ(all.broker.reserve(waiting.holdings, true, 0), Answer::waiting);
    EXPECT_EQ(all.broker.kick(tube, 5, 0), 2u);
    ASSERT_EQ(all.broker.next_ended_wait(), &waiting.holdings);
    EXPECT_EQ(waiting.holdings.given->id, first);
    all.broker.close(client.holdings, 0);
    all.broker.close(waiting.holdings, 0);
}

TEST(broker, a_job_has_a_second_at_least) {
    Fixture all;
    EXPECT_EQ(all.broker.find(all.put(*all.broker.use("a"), {0, 0, 0}, 0))->time_to_run, 1u);
}

TEST(broker, a_job_that_is_sent_stays_until_it_is) {
    Fixture all(16);
    Tube &tube = *all.broker.use("a");
    const std::uint64_t id = all.put(tube, {0, 0, 1}, 0);
    Job &job = *all.broker.find(id);
    all.broker.begin_reading(job);
    EXPECT_EQ(all.broker.delete_job(nullptr, id), Answer::deleted);
    EXPECT_EQ(all.broker.find(id), nullptr);
    flat_pool_stats stats{};
    (void)flat_pool_get_stats(all.job_pool.get(), &stats, 1);
    EXPECT_EQ(stats.live, 1u);
    all.broker.end_reading(job);
    (void)flat_pool_get_stats(all.job_pool.get(), &stats, 1);
    EXPECT_EQ(stats.live, 0u);
}

TEST(broker, an_id_tells_the_slot_of_its_tube_and_the_order_of_arrival) {
    Fixture all;
    std::uint64_t last = 0;
    for (const char *name : {"default", "a", "b", "mail/high", "a"}) {
        const std::uint64_t id = all.put(*all.broker.use(name), {0, 0, 1}, 0);
        EXPECT_EQ(id % slots, slot_of(name));
        EXPECT_GT(id / slots, last);
        last = id / slots;
    }
}

TEST(broker, a_bucket_never_has_more_jobs_than_it_may) {
    Fixture all(4096);
    Tube &tube = *all.broker.use("a");
    const std::size_t buckets = all.table.size();
    std::vector<std::uint64_t> ids;
    std::size_t of_one = 0;
    for (std::size_t i = 0; i < 20 * buckets; i++) { // those of bucket 5 stay
        const std::uint64_t id = all.put(tube, {0, 0, 1}, 0);
        if (id / slots % buckets == 5) {
            ids.push_back(id);
            ASSERT_LE(++of_one, JobTable::deepest);
        } else {
            ASSERT_EQ(all.broker.delete_job(nullptr, id), Answer::deleted);
        }
    }
    EXPECT_EQ(of_one, JobTable::deepest);
    while (Job *job = all.broker.new_job(2)) ids.push_back(all.broker.put(tube, job, {0, 0, 1}, 0));
    ASSERT_EQ(ids.size(), 4096u);
    for (const std::uint64_t id : ids) ASSERT_EQ(all.broker.find(id)->id, id);
    for (const std::uint64_t id : ids) ASSERT_EQ(all.broker.delete_job(nullptr, id), Answer::deleted);
}

namespace {

// The model. A job, and who waits, are found by looking at all.
struct PlainJob {
    std::uint64_t id;
    std::size_t tube;
    std::uint32_t priority, time_to_run;
    JobState state;
    Nanoseconds due; // of a buried one: its place
    std::optional<std::size_t> holder;
};

class Plain {
  public:
    static constexpr std::size_t tubes = 4, clients = 4;

    std::vector<PlainJob> jobs;
    std::array<Nanoseconds, tubes> paused_until{};
    std::array<std::vector<bool>, clients> watches;
    std::vector<std::size_t> waiting; // the longest first
    std::uint64_t burials = 0;

    PlainJob *find(std::uint64_t id) {
        const auto found = std::ranges::find(jobs, id, &PlainJob::id);
        return found == jobs.end() ? nullptr : &*found;
    }

    PlainJob *held(std::size_t client, std::uint64_t id) {
        PlainJob *job = find(id);
        return job != nullptr && job->state == JobState::reserved && job->holder == client ? job : nullptr;
    }

    PlainJob *best(std::size_t client, Nanoseconds now) {
        PlainJob *best = nullptr;
        for (PlainJob &each : jobs) {
            if (each.state != JobState::ready || !watches[client][each.tube] || paused_until[each.tube] > now) continue;
            if (best == nullptr || std::pair(each.priority, each.id) < std::pair(best->priority, best->id))
                best = &each;
        }
        return best;
    }

    bool is_deadline_soon(std::size_t client, Nanoseconds now) const {
        return std::ranges::any_of(jobs, [&](const PlainJob &each) {
            return each.state == JobState::reserved && each.holder == client && each.due <= now + second;
        });
    }

    void reserve(std::size_t client, PlainJob &job, Nanoseconds now) {
        job.state = JobState::reserved;
        job.holder = client;
        job.due = now + job.time_to_run * second;
    }

    void make_ready(PlainJob &job) {
        job.state = JobState::ready;
        job.holder.reset();
    }

    // The times at which something is due, up to `now`, one after the other.
    void pass(Nanoseconds now) {
        for (PlainJob &each : jobs) {
            const bool has_time = each.state == JobState::delayed || each.state == JobState::reserved;
            if (has_time && each.due <= now) make_ready(each);
        }
    }

    Nanoseconds next_time(Nanoseconds now) const {
        Nanoseconds next = never;
        for (const PlainJob &each : jobs) {
            if (each.state == JobState::delayed || each.state == JobState::reserved) next = std::min(next, each.due);
            const bool waits = each.holder && std::ranges::find(waiting, *each.holder) != waiting.end();
            if (each.state == JobState::reserved && waits) next = std::min(next, each.due - std::min(each.due, second));
        }
        for (const Nanoseconds each : paused_until) {
            if (each > now) next = std::min(next, each);
        }
        return next;
    }
};

} // namespace

TEST(broker, of_those_that_wait_for_a_tube_the_one_that_waits_longest_is_served_first) {
    Fixture all;
    Tube &tube = *all.broker.use("a");
    std::array<Client, 4> clients;
    for (Client &each : clients) each.watch(all.broker, "a");
    for (const std::size_t i : {2u, 0u, 3u, 1u}) {
        ASSERT_EQ(all.broker.reserve(clients[i].holdings, true, 0), Answer::waiting);
    }
    all.broker.stop_waiting(clients[0].holdings);
    for (const std::size_t i : {2u, 3u, 1u}) {
        (void)all.put(tube, {0, 0, 1}, 0);
        ASSERT_EQ(all.broker.next_ended_wait(), &clients[i].holdings);
    }
    for (Client &each : clients) all.broker.close(each.holdings, 0);
}

TEST(broker, does_whatever_the_model_does) {
    static constexpr std::array<const char *, Plain::tubes> names{"default", "a", "b", "c"};
    const std::uint64_t seed = test::seed();
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    test::random_source random(seed);
    for (std::size_t round = 0; round < test::scaled(20) && !testing::Test::HasFailure(); round++) {
        Fixture all;
        Plain plain;
        std::array<Tube *, Plain::tubes> tubes{};
        std::array<Client, Plain::clients> clients;
        Nanoseconds now = 0;
        for (std::size_t i = 0; i < tubes.size(); i++) tubes[i] = all.broker.use(names[i]);
        for (std::size_t i = 0; i < clients.size(); i++) {
            for (std::size_t tube = 0; tube < tubes.size(); tube++) {
                plain.watches[i].push_back(i == 0 || random.one_in(2));
                if (plain.watches[i][tube]) clients[i].watch(all.broker, names[tube]);
            }
        }
        // What each wait that ended got was the best for it by then. Afterwards nobody waits beside a job that is
        // ready.
        const auto check_waits = [&] {
            while (Holdings *of = all.broker.next_ended_wait()) {
                const auto found =
                    std::ranges::find_if(clients, [of](const Client &each) { return &each.holdings == of; });
                const auto client = static_cast<std::size_t>(found - clients.begin());
                PlainJob *best = plain.best(client, now);
                ASSERT_EQ(std::erase(plain.waiting, client), 1u);
                ASSERT_EQ(of->wait_end, best != nullptr ? WaitEnd::reserved : WaitEnd::deadline_soon);
                if (best == nullptr) {
                    ASSERT_TRUE(plain.is_deadline_soon(client, now));
                    continue;
                }
                ASSERT_EQ(of->given->id, best->id);
                plain.reserve(client, *best, now);
            }
            for (const std::size_t each : plain.waiting) {
                ASSERT_EQ(plain.best(each, now), nullptr);
                ASSERT_FALSE(plain.is_deadline_soon(each, now));
            }
        };
        for (int step = 0; step < 1500 && !testing::Test::HasFailure(); step++) {
            SCOPED_TRACE(testing::Message() << "round " << round << ", step " << step);
            const std::size_t client = random.below(clients.size()), tube = random.below(tubes.size());
            Holdings &holdings = clients[client].holdings;
            const bool waits = std::ranges::find(plain.waiting, client) != plain.waiting.end();
            const std::uint64_t id = plain.jobs.empty() ? 1 : plain.jobs[random.below(plain.jobs.size())].id;
            PlainJob *held = plain.held(client, id), *job = plain.find(id);
            const auto priority = static_cast<std::uint32_t>(random.below(4));
            const auto seconds = static_cast<std::uint32_t>(random.one_in(2) ? 0 : random.below(6));
            const auto expected = [](bool is, Answer answer) { return is ? answer : Answer::not_found; };
            switch (random.below(waits ? 4 : 12)) { // one that waits gives no commands
            case 0:
            case 1: {
                const auto time_to_run = static_cast<std::uint32_t>(1 + random.below(8));
                const std::uint64_t made = all.put(*tubes[tube], {priority, seconds, time_to_run}, now);
                plain.jobs.push_back({made, tube, priority, time_to_run,
                                      seconds != 0 ? JobState::delayed : JobState::ready, now + seconds * second,
                                      std::nullopt});
                break;
            }
            case 2: { // time passes, not beyond what is due next
                const Nanoseconds next = plain.next_time(now);
                ASSERT_LE(all.broker.next_timer(), next);
                now = std::min(next, now + random.below(2 * second));
                plain.pass(now);
                all.broker.run_timers(now);
                break;
            }
            case 3:
                if (!random.one_in(4)) break;
                ASSERT_EQ(all.broker.pause(names[tube], seconds, now), Answer::paused);
                plain.paused_until[tube] = now + seconds * second;
                break;
            case 4:
            case 5: {
                PlainJob *best = plain.best(client, now);
                const bool stays = random.one_in(3);
                const Answer answer = best != nullptr                       ? Answer::reserved
                                      : plain.is_deadline_soon(client, now) ? Answer::deadline_soon
                                      : stays                               ? Answer::waiting
                                                                            : Answer::timed_out;
                ASSERT_EQ(all.broker.reserve(holdings, stays, now), answer);
                if (best != nullptr) {
                    ASSERT_EQ(holdings.given->id, best->id);
                    plain.reserve(client, *best, now);
                } else if (answer == Answer::waiting) {
                    plain.waiting.push_back(client);
                }
                break;
            }
            case 6:
            case 7: {
                const bool may = job != nullptr && (job->state != JobState::reserved || held != nullptr);
                ASSERT_EQ(all.broker.delete_job(&holdings, id), expected(may, Answer::deleted));
                if (may) plain.jobs.erase(plain.jobs.begin() + (job - plain.jobs.data()));
                break;
            }
            case 8:
                ASSERT_EQ(all.broker.release(holdings, id, priority, seconds, now),
                          expected(held != nullptr, Answer::released));
                if (held == nullptr) break;
                held->priority = priority;
                plain.make_ready(*held);
                if (seconds != 0) held->state = JobState::delayed, held->due = now + seconds * second;
                break;
            case 9:
                ASSERT_EQ(all.broker.bury(holdings, id, priority), expected(held != nullptr, Answer::buried));
                if (held == nullptr) break;
                held->priority = priority;
                held->holder.reset();
                held->state = JobState::buried;
                held->due = plain.burials++;
                break;
            case 10:
                if (random.one_in(2)) {
                    ASSERT_EQ(all.broker.touch(holdings, id, now), expected(held != nullptr, Answer::touched));
                    if (held != nullptr) held->due = now + held->time_to_run * second;
                } else {
                    const bool may = job != nullptr && job->state != JobState::reserved;
                    ASSERT_EQ(all.broker.reserve_job(holdings, id, now), expected(may, Answer::reserved));
                    if (may) plain.reserve(client, *job, now);
                }
                break;
            case 11: {
                std::vector<PlainJob *> some;
                for (const JobState state : {JobState::buried, JobState::delayed}) {
                    for (PlainJob &each : plain.jobs) {
                        if (each.tube == tube && each.state == state) some.push_back(&each);
                    }
                    if (!some.empty()) break;
                }
                std::ranges::sort(some, {}, [](const PlainJob *each) { return std::pair(each->due, each->id); });
                const std::uint64_t most = random.below(plain.waiting.empty() ? 4 : 2);
                some.resize(std::min<std::size_t>(some.size(), most));
                ASSERT_EQ(all.broker.kick(*tubes[tube], most, now), some.size());
                for (PlainJob *each : some) plain.make_ready(*each);
                break;
            }
            }
            check_waits();
            const auto count = [&](JobState state) {
                return static_cast<std::uint64_t>(std::ranges::count(plain.jobs, state, &PlainJob::state));
            };
            ASSERT_EQ(all.broker.counts().ready, count(JobState::ready));
            ASSERT_EQ(all.broker.counts().delayed, count(JobState::delayed));
            ASSERT_EQ(all.broker.counts().reserved, count(JobState::reserved));
            ASSERT_EQ(all.broker.counts().buried, count(JobState::buried));
        }
        for (Client &each : clients) all.broker.close(each.holdings, now);
    }
}
