// Fuzz target: any bytes in the place of what clients send, in any pieces, to one shard or several, while messages
// between shards arrive in any order, time passes and clients leave. In the end every block is where it belongs.
#include "fuzz/target.hpp"

#include "server/simulated_shards.hpp"

#include <cstdint>
#include <list>
#include <string>

using test::simulated_client;
using test::simulated_shards;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    fuzz::input input(data, size);
    simulated_shards all({.shards = 1 + input.take<std::uint8_t>() % 3u, .jobs = 4, .clients = 3, .tubes = 4});
    for (std::size_t i = 0; i < all.size(); i++) {
        if (flat::server::slot_of("default") % all.size() == i) DEMAND(all.exchange(i).broker().keep("default"));
    }
    std::list<simulated_client *> clients;
    const auto one_of = [&clients](std::size_t number) {
        return std::next(clients.begin(), static_cast<std::ptrdiff_t>(number % clients.size()));
    };
    while (!input.ended()) {
        const std::uint8_t what = input.take<std::uint8_t>();
        const std::uint8_t number = input.take<std::uint8_t>();
        const std::vector<std::size_t> lanes = all.full_lanes();
        if (what < 0x20 && !lanes.empty()) {
            all.deliver(lanes[number % lanes.size()]);
        } else if (clients.empty() || (what < 0x28 && clients.size() < 3)) {
            clients.push_back(&all.connect(number % all.size()));
            clients.back()->at_once = what % 4 == 0 ? 1 + number % 5u : SIZE_MAX;
        } else if (what < 0x30) {
            const auto gone = one_of(number);
            all.hang_up(**gone);
            clients.erase(gone);
        } else if (what < 0x38) {
            all.pass(number * flat::server::second / 16);
        } else { // lines, or a piece of one, up to the next zero
            std::string bytes;
            while (!input.ended()) {
                const char each = static_cast<char>(input.take<std::uint8_t>());
                if (each == 0) break;
                if (each == '\n') bytes += '\r';     // the end of a line is one byte here,
                bytes += each == '\v' ? '\n' : each; // and that of no line another
            }
            all.write(**one_of(number), bytes);
        }
        for (simulated_client *each : clients) each->output.clear();
        all.sweep();
    }
    for (simulated_client *each : clients) all.hang_up(*each);
    all.deliver_all();
    all.sweep();
    DEMAND(all.clients() == 0);
    DEMAND(all.clients_blocks() == 0);
    std::size_t jobs = 0, tubes = 0;
    for (std::size_t i = 0; i < all.size(); i++) {
        const flat::server::BrokerCounts &counts = all.exchange(i).broker().counts();
        DEMAND(counts.reserved == 0);
        jobs += counts.ready + counts.delayed + counts.buried;
        tubes += counts.tubes;
    }
    DEMAND(all.job_blocks() == jobs);
    DEMAND(all.tube_blocks() == tubes);
    DEMAND(all.longest_lane() <= flat::server::ShardExchange::messages_for(all.most_clients()));
    return 0;
}
