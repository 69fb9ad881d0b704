// Clients of several shards while messages between shards are under way for as long as it pleases, each lane in its own
// order: each job that was put is deleted once, no two clients have one at the same time, none waits for a job that is
// there, and in the end every block is back.
#include "simulated_shards.hpp"

#include "core/environment.hpp"
#include "core/random_source.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace {

using namespace flat::server;
using test::simulated_client;
using test::simulated_shards;

constexpr std::array<const char *, 7> tubes{"default", "a", "b", "c", "d", "e", "f"};
constexpr std::string_view end_of_line = "\r\n";

std::vector<std::string> words_of(std::string_view line) {
    std::vector<std::string> words(1);
    for (const char each : line) {
        if (each == ' ') {
            words.emplace_back();
        } else {
            words.back() += each;
        }
    }
    return words;
}

// An answer: its words, and the body if it has one.
struct Answered {
    std::vector<std::string> words;
    std::string body;
};

// Of the output, which is then without it; nullopt: it has not come as a whole.
std::optional<Answered> take_answer(std::string &output) {
    const std::size_t end = output.find(end_of_line);
    if (end == output.npos) return std::nullopt;
    Answered made{words_of(std::string_view(output).substr(0, end)), {}};
    std::size_t size = end + end_of_line.size();
    const std::string &first = made.words.front();
    if (first == "RESERVED" || first == "FOUND" || first == "OK") {
        const std::size_t body = std::stoul(made.words.back());
        if (output.size() < size + body + end_of_line.size()) return std::nullopt;
        made.body = output.substr(size, body);
        size += body + end_of_line.size();
    }
    output.erase(0, size);
    return made;
}

struct Settings {
    std::size_t shards, clients, steps;
    bool are_hurried; // reservations run out
};

// Clients at random, each with one command under way, and the account of all jobs.
class Crowd {
  public:
    Crowd(const Settings &settings, std::uint64_t seed)
        : settings_(settings), random_(seed),
          all_({.shards = settings.shards, .jobs = 24, .clients = 2 * settings.clients, .tubes = tubes.size()}) {
        for (std::size_t i = 0; i < settings.shards; i++) {
            if (slot_of("default") % settings.shards == i) (void)all_.exchange(i).broker().keep("default");
        }
    }

    void run() {
        for (std::size_t step = 0; step < settings_.steps && !testing::Test::HasFailure(); step++) {
            const std::vector<std::size_t> lanes = all_.full_lanes();
            if (!lanes.empty() && !random_.one_in(3)) {
                all_.deliver(lanes[random_.below(lanes.size())]);
            } else if (people_.size() < settings_.clients && random_.one_in(8)) {
                people_.emplace_back(all_.connect(random_.below(settings_.shards)));
                people_.back().client.at_once = random_.one_in(2) ? SIZE_MAX : 1 + random_.below(9);
            } else if (!people_.empty() && random_.one_in(60)) {
                leave(random_.below(people_.size()));
            } else if (random_.one_in(settings_.are_hurried ? 8 : 20)) {
                all_.pass(random_.below(settings_.are_hurried ? 2 * second : second / 10));
            } else if (random_.one_in(40)) {
                settle();
            } else {
                for (Person &each : people_) {
                    if (!each.has_asked && random_.one_in(2)) ask(each);
                }
            }
            for (Person &each : people_) hear(each);
            all_.sweep();
        }
        finish();
    }

    std::size_t deleted() const { return deleted_.size(); }
    std::size_t reserved() const { return reserved_; }

  private:
    struct Person {
        explicit Person(simulated_client &of) : client(of) {}

        simulated_client &client;
        bool has_asked = false;
        std::vector<std::string> command{};
        std::string body{};                        // of the put that is under way
        std::string deletes{};                     // the body of the job whose delete is under way
        std::map<std::string, std::string> held{}; // bodies by ids
        std::set<std::string> watched{"default"};
    };

    void say(Person &person, const std::string &line) {
        person.command = words_of(line);
        person.has_asked = true;
        std::string bytes = line + "\r\n";
        if (!person.body.empty()) bytes += person.body + "\r\n";
        all_.write(person.client, bytes);
    }

    void ask(Person &person) {
        person.body.clear();
        const std::string tube = tubes[random_.below(tubes.size())];
        switch (random_.below(12)) {
        case 0:
        case 1: {
            person.body = fmt::format("body {}", ++bodies_);
            put_.insert(person.body);
            return say(person, fmt::format("put {} {} {} {}", random_.below(3), random_.below(8) == 0 ? 1 : 0,
                                           settings_.are_hurried ? 1 + random_.below(3) : 1000000, person.body.size()));
        }
        case 2: return say(person, "use " + tube);
        case 3: return say(person, "watch " + tube);
        case 4: return say(person, "ignore " + tube);
        case 5:
        case 6: return say(person, "reserve");
        case 7: return say(person, fmt::format("reserve-with-timeout {}", random_.below(2)));
        case 8: return say(person, fmt::format("kick {}", random_.below(4)));
        default: break;
        }
        if (person.held.empty()) return say(person, "stats");
        const auto chosen =
            std::next(person.held.begin(), static_cast<std::ptrdiff_t>(random_.below(person.held.size())));
        const auto [id, body] = *chosen;
        person.held.erase(chosen);
        held_.erase(body);
        switch (random_.below(5)) {
        case 0: return say(person, fmt::format("release {} {} {}", id, random_.below(3), random_.below(2)));
        case 1: return say(person, fmt::format("bury {} {}", id, random_.below(3)));
        default:
            if (!settings_.are_hurried) put_.erase(body); // nobody has it but this client
            person.deletes = body;
            return say(person, "delete " + id);
        }
    }

    void hear(Person &person) {
        if (!person.has_asked) {
            EXPECT_EQ(person.client.output, "");
            return;
        }
        const std::optional<Answered> answer = take_answer(person.client.output);
        if (!answer) return;
        person.has_asked = false;
        const std::string &verb = person.command.front(), &word = answer->words.front();
        if (verb == "put") {
            EXPECT_TRUE(word == "INSERTED" || word == "OUT_OF_MEMORY") << word;
            if (word != "INSERTED") put_.erase(person.body);
        } else if (verb.starts_with("reserve")) {
            if (word == "RESERVED") return has_reserved(person, answer->words.at(1), answer->body);
            EXPECT_TRUE((word == "TIMED_OUT" && verb != "reserve") ||
                        (word == "DEADLINE_SOON" && settings_.are_hurried))
                << word;
        } else if (verb == "delete") {
            if (word == "DELETED") {
                put_.erase(person.deletes);
                EXPECT_TRUE(deleted_.insert(person.deletes).second) << person.deletes << " was deleted twice";
            } else {
                EXPECT_TRUE(settings_.are_hurried) << word;
            }
        } else if (verb == "release" || verb == "bury") {
            EXPECT_TRUE(word == "RELEASED" || word == "BURIED" || settings_.are_hurried) << word;
        } else if (verb == "watch") {
            if (word == "WATCHING") person.watched.insert(person.command[1]);
        } else if (verb == "ignore") {
            if (word == "WATCHING") person.watched.erase(person.command[1]);
        }
    }

    void has_reserved(Person &person, const std::string &id, const std::string &body) {
        reserved_++;
        // By the time that the answer comes the reservation may have run out, and another may have deleted the job.
        const bool may_be_deleted = settings_.are_hurried && deleted_.contains(body);
        EXPECT_TRUE(put_.contains(body) || unknown_.contains(body) || may_be_deleted)
            << body << " was deleted, or never put";
        person.held[id] = body;
        EXPECT_TRUE(held_.insert(body).second || settings_.are_hurried) << body << " is reserved by two";
    }

    void leave(std::size_t which) {
        Person &person = people_of(which);
        for (const auto &[id, body] : person.held) held_.erase(body);
        if (person.has_asked) {
            const std::string &verb = person.command.front();
            if (verb == "put") unknown_.insert(person.body), put_.erase(person.body);
            if (verb == "delete") unknown_.insert(person.deletes), put_.erase(person.deletes);
        }
        all_.hang_up(person.client);
        people_.erase(std::next(people_.begin(), static_cast<std::ptrdiff_t>(which)));
    }
    Person &people_of(std::size_t which) { return *std::next(people_.begin(), static_cast<std::ptrdiff_t>(which)); }

    // All messages arrive. Then nobody waits for a job that is there.
    void settle() {
        all_.deliver_all();
        for (Person &each : people_) hear(each);
        for (const Person &each : people_) {
            if (!each.has_asked) continue;
            ASSERT_TRUE(each.command.front().starts_with("reserve")) << each.command.front() << " is not answered";
            for (const std::string &name : each.watched) {
                const Tube *tube = all_.exchange(slot_of(name) % settings_.shards).broker().find_tube(name);
                ASSERT_NE(tube, nullptr) << name;
                EXPECT_TRUE(tube->ready.empty()) << "somebody waits for " << name << ", where there is a job";
            }
        }
    }

    std::string ask_now(Person &person, const std::string &line, std::string *body = nullptr) {
        person.body.clear();
        say(person, line);
        all_.deliver_all();
        const std::optional<Answered> answer = take_answer(person.client.output);
        person.has_asked = false;
        if (!answer) return "";
        if (body != nullptr) *body = answer->body;
        return answer->words.front() + (answer->words.size() > 1 ? " " + answer->words[1] : "");
    }

    void finish() {
        if (testing::Test::HasFailure()) return;
        settle();
        while (!people_.empty()) leave(0);
        all_.deliver_all();
        all_.pass(10 * second); // what is delayed is ready
        all_.sweep();
        ASSERT_EQ(all_.clients(), 0u);
        ASSERT_EQ(all_.clients_blocks(), 0u);

        Person &last = people_.emplace_back(all_.connect(0));
        all_.deliver_all();
        for (const char *each : tubes) {
            ask_now(last, std::string("watch ") + each);
            ask_now(last, std::string("use ") + each);
            ask_now(last, "kick 1000");
            ask_now(last, "kick 1000");
        }
        std::set<std::string> left;
        std::string body;
        for (std::string answer; (answer = ask_now(last, "reserve-with-timeout 0", &body)).starts_with("RESERVED");) {
            EXPECT_TRUE(left.insert(body).second) << body;
            EXPECT_TRUE(put_.contains(body) || unknown_.contains(body)) << body << " was deleted, or never put";
            EXPECT_EQ(ask_now(last, "delete " + answer.substr(9)), "DELETED");
        }
        for (const std::string &each : put_) EXPECT_TRUE(left.contains(each)) << each << " is lost";
        EXPECT_EQ(all_.job_blocks(), 0u);
        leave(0);
        all_.deliver_all();
        all_.sweep();
        EXPECT_EQ(all_.clients(), 0u);
        EXPECT_EQ(all_.clients_blocks(), 0u);
        EXPECT_EQ(all_.tube_blocks(), 1u); // `default`
        EXPECT_LE(all_.longest_lane(), ShardExchange::messages_for(all_.most_clients()));
    }

    const Settings settings_;
    test::random_source random_;
    simulated_shards all_;
    std::list<Person> people_;
    std::set<std::string> put_, held_, deleted_;
    std::set<std::string> unknown_; // their client left before it was told whether they were put, or deleted
    std::size_t bodies_ = 0, reserved_ = 0;
};

} // namespace

TEST(exchange, loses_no_job_and_gives_none_to_two_in_whatever_order_messages_arrive) {
    std::size_t reserved = 0, deleted = 0;
    for (std::size_t round = 0; round < test::scaled(200) && !HasFailure(); round++) {
        const std::uint64_t seed = test::seed() + round;
        SCOPED_TRACE(seed);
        Crowd crowd({.shards = 1 + round % 5, .clients = 2 + round % 7, .steps = 4000, .are_hurried = round % 2 == 1},
                    seed);
        crowd.run();
        reserved += crowd.reserved();
        deleted += crowd.deleted();
    }
    EXPECT_GT(reserved, 100u);
    EXPECT_GT(deleted, 50u);
}
