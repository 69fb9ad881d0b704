#include "server.hpp"

#include <flatline/version.h>

#include <algorithm>
#include <array>
#include <bit>
#include <exception>
#include <random>
#include <stdexcept>
#include <thread>

#include <fmt/format.h>
#include <sys/utsname.h>

namespace flat::server {
namespace {

// Bodies of jobs for which there are blocks of their own, in bytes, besides the largest.
constexpr std::array<std::uint32_t, 5> usual_bodies{64, 512, 2048, 8192, 32768};

std::size_t block_for(std::uint32_t body) { return (sizeof(Job) + body + 2 + 15) / 16 * 16; }

std::size_t longest_list(const ServerOptions &options) {
    return 8 + options.shards * options.tubes * (longest_tube_name + 3);
}

} // namespace

flat_pool *Server::make_pool(const std::vector<flat_class> &classes) {
    flat_pool_options options{};
    options.classes = classes.data();
    options.class_count = classes.size();
    flat_pool *made = nullptr;
    const flat_status status = flat_pool_create(&made, &options, nullptr);
    if (status != FLAT_OK)
        throw std::runtime_error(fmt::format("memory for the server: {}", flat_status_string(status)));
    pools_.emplace_back(made);
    return made;
}

// Each class of bodies gets an equal share.
flat_pool *Server::make_job_pool(std::size_t bytes, std::uint32_t largest_body, std::size_t *count) {
    std::vector<flat_share> shares;
    for (const std::uint32_t body : usual_bodies) {
        if (body < largest_body) shares.push_back({block_for(body), 0});
    }
    shares.push_back({block_for(largest_body), 0});
    unsigned left = 100;
    for (std::size_t i = 0; i < shares.size(); i++) {
        shares[i].percent = left / static_cast<unsigned>(shares.size() - i);
        left -= shares[i].percent;
    }
    std::vector<flat_class> classes(shares.size());
    if (flat_classes_from_shares(bytes, shares.data(), shares.size(), classes.data()) != FLAT_OK) {
        throw std::runtime_error(fmt::format("{} bytes for the jobs of a shard do not hold one of {} bytes: give more",
                                             bytes, largest_body));
    }
    *count = 0;
    for (const flat_class &each : classes) *count += each.block_count;
    return make_pool(classes);
}

void Server::make_engine(const ServerOptions &options) {
    const flat_class unused{64, 16};
    const flat_class_limits none{FLAT_NO_GRANTS, FLAT_NO_GRANTS, 0};
    std::array<char, 300> message{};
    flat_engine_options engine{};
    engine.worker_count = engine.lane_count = options.shards;
    engine.classes = &unused;
    engine.class_count = 1;
    engine.class_limits = &none;
    engine.inline_limits = {ShardExchange::messages_for(options.connections), 1, 0};
    engine.caller_runs_workers = true;
    engine.message = message.data();
    engine.message_size = message.size();
    flat_engine *made = nullptr;
    if (flat_engine_create(&made, &engine) != FLAT_OK) throw std::runtime_error(message.data());
    engine_.reset(made);
}

Server::Server(const ServerOptions &options) {
    if (options.shards < 1 || options.shards > slots) {
        throw std::runtime_error(fmt::format("{} shards: give 1 to {}", options.shards, slots));
    }
    if (options.connections < 1 || options.connections > FLAT_ENGINE_MAX_GRANTS / ShardExchange::messages_for(1)) {
        throw std::runtime_error(fmt::format("{} connections: give 1 to {}", options.connections,
                                             FLAT_ENGINE_MAX_GRANTS / ShardExchange::messages_for(1)));
    }
    utsname names{};
    if (uname(&names) != 0) throw std::runtime_error("the system does not tell its name");
    hostname_ = names.nodename;
    system_ = names.version;
    machine_ = names.machine;
    std::random_device random;
    id_ = fmt::format("{:08x}{:08x}", random(), random());
    facts_ = {.hostname = hostname_,
              .system = system_,
              .machine = machine_,
              .version = FLAT_VERSION_STRING,
              .id = id_,
              .largest_body = options.largest_body,
              .longest_list = longest_list(options)};
    make_engine(options);
    const FileDescriptor listening = listen_at(options.address, options.port);
    port_ = port_of(listening);
    shards_.resize(options.shards);
    tables_.resize(options.shards);
    const Nanoseconds client_timeout = options.client_timeout == 0 ? never : options.client_timeout * second;
    const std::size_t clients = options.shards * options.connections; // each may watch tubes of any shard
    for (std::size_t i = 0; i < options.shards; i++) {
        std::size_t jobs = 0;
        flat_pool *pool = make_job_pool(options.job_bytes / options.shards, options.largest_body, &jobs);
        tables_[i].resize(std::bit_ceil(jobs));
        const ShardMemory memory{.broker = {.jobs = pool,
                                            .tubes = make_pool(sizeof(Tube), options.tubes),
                                            .table = tables_[i],
                                            .arrivals = &arrivals_},
                                 .holdings = make_pool(sizeof(Holdings), clients),
                                 .watches = make_pool(sizeof(WatchedTube), 4 * options.connections),
                                 .lists = make_pool(facts_.longest_list, 2)};
        flat_pool *connections = make_pool(Connection::bytes_for(options.shards), options.connections);
        owned_.push_back(std::make_unique<ServerShard>(i, shards_, engine_.get(), memory, connections, facts_,
                                                       client_timeout, duplicate(listening)));
        shards_[i] = owned_.back().get();
    }
}

Server::~Server() = default;

void Server::run() {
    std::vector<std::exception_ptr> ends(shards_.size());
    const auto run_shard = [&](std::size_t i) noexcept {
        try {
            shards_[i]->run();
        } catch (...) {
            ends[i] = std::current_exception();
            stop(); // the others, which could not be without it
        }
    };
    {
        std::vector<std::jthread> others;
        try {
            for (std::size_t i = 1; i < shards_.size(); i++) others.emplace_back(run_shard, i);
        } catch (...) {
            stop();
            throw;
        }
        run_shard(0);
    }
    for (const std::exception_ptr &each : ends) {
        if (each) std::rethrow_exception(each);
    }
}

void Server::stop() {
    for (ServerShard *each : shards_) each->stop();
}

void Server::drain() {
    for (ServerShard *each : shards_) each->drain();
}

} // namespace flat::server
