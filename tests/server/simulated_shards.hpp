// Shards and clients without a system: bytes are strings, and messages between shards stand in lanes, from which a test
// takes them in any order that the engine's lanes could have, one lane after the other or not.
#ifndef FLATLINE_TESTS_SERVER_SIMULATED_SHARDS_HPP
#define FLATLINE_TESTS_SERVER_SIMULATED_SHARDS_HPP

#include "pools.hpp"
#include "server/shard_exchange.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace test {

class simulated_shards;

struct simulated_client {
    simulated_client(flat::server::ShardExchange &at, std::size_t shards)
        : parts(shards), talk(at.shared(), parts), home(&at) {}

    std::vector<flat::server::Conversation::Part> parts;
    flat::server::Conversation talk;
    flat::server::ShardExchange *home;
    std::string input;              // that has not been read
    std::string output;             // that was sent and nobody took
    std::size_t at_once = SIZE_MAX; // bytes that one call reads or sends
    flat::server::Nanoseconds timer = flat::server::never;
    bool has_hung_up = false;
};

class simulated_shards {
  public:
    struct options {
        std::size_t shards = 3;
        std::size_t jobs = 64, clients = 8, tubes = 16; // of each shard
        std::size_t largest_body = 100;
    };

    explicit simulated_shards(const options &chosen) : options_(chosen) {
        facts_ = {.hostname = "here",
                  .system = "none",
                  .machine = "none",
                  .version = "0",
                  .id = "0",
                  .largest_body = static_cast<std::uint32_t>(chosen.largest_body),
                  .longest_list = 8 + chosen.shards * chosen.tubes * (flat::server::longest_tube_name + 3)};
        for (std::size_t i = 0; i < chosen.shards; i++) shards_.push_back(std::make_unique<shard>(*this, i));
        lanes_.resize(chosen.shards * chosen.shards);
    }
    simulated_shards(const simulated_shards &) = delete;
    simulated_shards &operator=(const simulated_shards &) = delete;

    std::size_t size() const { return shards_.size(); }
    flat::server::ShardExchange &exchange(std::size_t i) { return shards_[i]->exchange; }

    simulated_client &connect(std::size_t home) {
        simulated_client &made = clients_.emplace_back(exchange(home), size());
        made.talk.open(now_);
        go_on(made);
        exchange(home).tell_ended_waits();
        most_clients_ = std::max(most_clients_, clients_.size());
        return made;
    }

    // What the client writes, of which as much is read as the conversation takes.
    void write(simulated_client &client, std::string_view bytes) {
        client.input += bytes;
        go_on(client);
        client.home->tell_ended_waits();
    }

    void hang_up(simulated_client &client) {
        client.has_hung_up = true;
        client.timer = flat::server::never;
        client.talk.hang_up(now_);
        client.home->tell_ended_waits();
    }

    // Lanes in which there is a message.
    std::vector<std::size_t> full_lanes() const {
        std::vector<std::size_t> found;
        for (std::size_t i = 0; i < lanes_.size(); i++) {
            if (!lanes_[i].empty()) found.push_back(i);
        }
        return found;
    }

    void deliver(std::size_t lane) {
        const flat::server::Message message = lanes_[lane].front();
        lanes_[lane].pop_front(); // as the engine does before it runs a task
        exchange(lane % size()).take(message);
    }

    void deliver_all() {
        for (;;) {
            const std::vector<std::size_t> lanes = full_lanes();
            if (lanes.empty()) return;
            deliver(lanes.front());
        }
    }

    void pass(flat::server::Nanoseconds time) {
        now_ += time;
        for (const auto &each : shards_) {
            each->exchange.set_time(now_);
            each->exchange.run_timers();
        }
        for (simulated_client &each : clients_) {
            if (each.timer > now_) continue;
            each.timer = flat::server::never;
            each.talk.timed_out(now_);
            go_on(each);
            each.home->tell_ended_waits();
        }
    }

    // Destroys those that have ended.
    void sweep() {
        clients_.remove_if([](const simulated_client &each) { return each.talk.has_ended(); });
    }

    std::size_t clients() const { return clients_.size(); }
    std::size_t most_clients() const { return most_clients_; } // there ever were at once
    std::size_t longest_lane() const { return longest_lane_; } // messages that there ever were

    // Blocks that are handed out, of all pools but for those of jobs and of tubes.
    std::size_t clients_blocks() const {
        std::size_t blocks = 0;
        for (const auto &each : shards_) blocks += in_use(each->holdings) + in_use(each->watches) + in_use(each->lists);
        return blocks;
    }
    std::size_t job_blocks() const {
        std::size_t blocks = 0;
        for (const auto &each : shards_) blocks += in_use(each->jobs);
        return blocks;
    }
    std::size_t tube_blocks() const {
        std::size_t blocks = 0;
        for (const auto &each : shards_) blocks += in_use(each->tubes);
        return blocks;
    }

  private:
    struct shard final : flat::server::ShardHost {
        shard(simulated_shards &of, std::size_t at)
            : all(of), number(at),
              jobs(make_pool(sizeof(flat::server::Job) + of.options_.largest_body + 2, of.options_.jobs)),
              tubes(make_pool(sizeof(flat::server::Tube), of.options_.tubes)),
              holdings(make_pool(sizeof(flat::server::Holdings), of.options_.clients * of.options_.shards)),
              watches(make_pool(sizeof(flat::server::WatchedTube), 4 * of.options_.clients)),
              lists(make_pool(of.facts_.longest_list, 2)), table(of.options_.jobs),
              exchange(at, *this,
                       {{jobs.get(), tubes.get(), table, &of.arrivals_}, holdings.get(), watches.get(), lists.get()},
                       of.facts_) {}

        void send(std::size_t to, const flat::server::Message &message) override {
            auto &lane = all.lanes_[number * all.size() + to];
            lane.push_back(message);
            all.longest_lane_ = std::max(all.longest_lane_, lane.size());
        }
        void went_on(flat::server::Conversation &talk) override { all.go_on(all.client_of(talk)); }
        void set_timer(flat::server::Conversation &talk, flat::server::Nanoseconds at) override {
            all.client_of(talk).timer = at;
        }

        simulated_shards &all;
        std::size_t number;
        owned_pool jobs, tubes, holdings, watches, lists;
        std::vector<flat::server::Job *> table;
        flat::server::ShardExchange exchange;
    };

    simulated_client &client_of(const flat::server::Conversation &talk) {
        return *std::find_if(clients_.begin(), clients_.end(),
                             [&talk](const simulated_client &each) { return &each.talk == &talk; });
    }

    void go_on(simulated_client &client) {
        if (client.has_hung_up) return;
        for (bool moves = true; moves;) {
            moves = send_some(client);
            if (!client.talk.reads() || client.input.empty()) continue;
            const std::span<char> room = client.talk.room();
            const std::size_t bytes = client.input.copy(room.data(), std::min(room.size(), client.at_once));
            client.input.erase(0, bytes);
            client.talk.received(bytes, now_);
            moves = true;
        }
    }

    bool send_some(simulated_client &client) {
        const flat::server::Conversation::Pending pending = client.talk.pending();
        std::size_t left = client.at_once, bytes = 0;
        for (const std::span<const char> part : pending.parts) {
            const std::size_t of_part = std::min(left - bytes, part.size());
            client.output.append(part.data(), of_part);
            bytes += of_part;
        }
        if (bytes != 0) client.talk.sent(bytes, now_);
        return bytes != 0;
    }

    options options_;
    flat::server::ServerFacts facts_;
    std::atomic<std::uint64_t> arrivals_{1};
    std::vector<std::unique_ptr<shard>> shards_;
    std::vector<std::deque<flat::server::Message>> lanes_; // from each shard to each
    std::list<simulated_client> clients_;
    flat::server::Nanoseconds now_ = 0;
    std::size_t longest_lane_ = 0, most_clients_ = 0;
};

} // namespace test

#endif
