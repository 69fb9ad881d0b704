// flatlined: its shards, their memory and their threads.
#pragma once

#include "shard.hpp"

#include <flatline/engine.h>
#include <flatline/pool.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace flat::server {

struct ServerOptions {
    std::string address = "127.0.0.1";
    std::uint16_t port = 11300; // 0: one that the system chooses
    std::size_t shards = 1;     // 1 to `slots`
    std::uint32_t largest_body = 65535;
    std::size_t job_bytes = std::size_t{64} << 20; // for jobs with their bodies, of all shards together
    std::size_t connections = 1000;                // of each shard
    std::size_t tubes = 1000;                      // of each shard
    std::uint32_t client_timeout = 60;             // seconds, see ServerShard; 0: never
};

/// All memory is taken, and resident, once it is made.
class Server {
  public:
    /// Throws std::runtime_error or std::system_error iff an option is out of range, or the system refuses what it
    /// needs.
    explicit Server(const ServerOptions &options);
    Server(const Server &) = delete;
    Server &operator=(const Server &) = delete;
    ~Server();

    std::uint16_t port() const { return port_; }

    /// Serves until `stop` is called; one shard is served by the calling thread. Throws std::system_error or
    /// std::runtime_error iff the system refuses a thread, or a shard what it needs to go on; all have ended then.
    void run();

    /// Both may be called by any thread, and by a signal's handler. `drain`: from now on puts are answered DRAINING.
    void stop();
    void drain();

  private:
    struct PoolEnd {
        void operator()(flat_pool *pool) const { flat_pool_destroy(pool); }
    };
    struct EngineEnd {
        void operator()(flat_engine *engine) const { flat_engine_destroy(engine); }
    };

    flat_pool *make_pool(const std::vector<flat_class> &classes);
    flat_pool *make_pool(std::size_t bytes, std::size_t count) { return make_pool({{bytes, count}}); }
    flat_pool *make_job_pool(std::size_t bytes, std::uint32_t largest_body, std::size_t *count);
    void make_engine(const ServerOptions &options);

    std::string hostname_, system_, machine_, id_;
    ServerFacts facts_;
    std::atomic<std::uint64_t> arrivals_{1};
    std::unique_ptr<flat_engine, EngineEnd> engine_;
    std::vector<std::unique_ptr<flat_pool, PoolEnd>> pools_;
    std::vector<std::vector<Job *>> tables_;
    std::vector<std::unique_ptr<ServerShard>> owned_;
    std::vector<ServerShard *> shards_;
    std::uint16_t port_ = 0;
};

} // namespace flat::server
