// flatlined: reads the command line and serves until it is told to end.
//
// Exit status: 0 it was told to end, by SIGTERM or SIGINT; 1 it had to end, since the system refused what it needs to
// go on, and one line on standard error says what; 2 it could not begin, and one line on standard error says what to
// do.
#include "server.hpp"

#include <CLI/CLI.hpp>
#include <flatline/version.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <thread>

#include <fmt/format.h>

namespace {

constexpr int status_had_to_end = 1, status_not_run = 2;

flat::server::Server *server;

void handle(int number, void (*handler)(int)) {
    struct sigaction action{};
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    (void)sigaction(number, &action, nullptr); // cannot fail for these signals
}

int serve(const flat::server::ServerOptions &options) {
    flat::server::Server made(options);
    server = &made;
    for (const int number : {SIGTERM, SIGINT}) handle(number, [](int) { server->stop(); });
    handle(SIGUSR1, [](int) { server->drain(); });
    fmt::print("flatlined {}: at {} port {}, {} shards\n", FLAT_VERSION_STRING, options.address, made.port(),
               options.shards);
    (void)std::fflush(stdout);
    try {
        made.run();
        return 0;
    } catch (const std::exception &error) {
        fmt::print(stderr, "flatlined: it had to end: {}\n", error.what());
        return status_had_to_end;
    }
}

} // namespace

int main(int argc, char **argv) {
    flat::server::ServerOptions options;
    options.shards = std::max(1u, std::thread::hardware_concurrency());
    CLI::App program("A task queue for clients of beanstalkd, in memory that is all there from the start.",
                     "flatlined");
    program.set_version_flag("-v,--version", "flatlined " FLAT_VERSION_STRING);
    program.add_option("-l,--listen", options.address, "The address to listen at")
        ->type_name("ADDRESS")
        ->capture_default_str();
    program.add_option("-p,--port", options.port, "The port; 0: the system chooses one")->capture_default_str();
    program.add_option("-z,--max-job-size", options.largest_body, "Bytes of the largest body of a job")
        ->check(CLI::Range(1u, 1u << 30))
        ->capture_default_str();
    program.add_option("--shards", options.shards, "Threads; a tube is on one of them")->capture_default_str();
    program.add_option("--memory", options.job_bytes, "For jobs with their bodies")
        ->transform(CLI::AsSizeValue(false))
        ->capture_default_str();
    program.add_option("--connections", options.connections, "At once, of each shard")->capture_default_str();
    program.add_option("--tubes", options.tubes, "Of each shard")
        ->check(CLI::Range(1u, 1u << 20))
        ->capture_default_str();
    program
        .add_option("--client-timeout", options.client_timeout,
                    "Seconds that a client has for a command or a body, and to take answers; 0: any time")
        ->capture_default_str();
    try {
        program.parse(argc, argv);
        return serve(options);
    } catch (const CLI::Success &asked) {
        return program.exit(asked);
    } catch (const CLI::ParseError &error) {
        fmt::print(stderr, "flatlined: {}: see `flatlined --help`\n", error.what());
    } catch (const std::exception &error) {
        fmt::print(stderr, "flatlined: {}\n", error.what());
    }
    return status_not_run;
}
