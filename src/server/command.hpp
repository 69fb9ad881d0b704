// A command line of beanstalkd's protocol, taken apart. Nothing is allocated, and nothing of the line is copied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace flat::server {

enum class Verb : std::uint8_t {
    unknown,    // answered UNKNOWN_COMMAND
    bad_format, // answered BAD_FORMAT
    put,
    use,
    reserve,
    reserve_with_timeout,
    reserve_job,
    delete_job,
    release,
    bury,
    touch,
    watch,
    ignore,
    peek,
    peek_ready,
    peek_delayed,
    peek_buried,
    kick,
    kick_job,
    stats,
    stats_job,
    stats_tube,
    list_tubes,
    list_tube_used,
    list_tubes_watched,
    pause_tube,
    quit
};

/// The timeout of a reserve that waits until there is a job.
inline constexpr std::uint32_t no_timeout = 0xffffffff;

/// What a verb does not have is zero or empty. Times are in seconds.
struct ClientCommand {
    Verb verb = Verb::unknown;
    std::uint32_t priority = 0, delay = 0, time_to_run = 0, timeout = 0;
    std::uint32_t size = 0;  // of the body that follows, in bytes, without its end of line
    std::uint64_t count = 0; // of jobs to kick
    std::uint64_t job = 0;
    std::string_view tube; // within the line
};

inline constexpr std::size_t longest_line = 224; // bytes, with the end of line; what is longer is answered BAD_FORMAT
inline constexpr std::size_t longest_tube_name = 200; // bytes

/// Takes apart a line, which is without its end of line and may have any bytes. O(its length).
///
/// The rules are those of beanstalkd 1.12, as its answers show them: a line has the verb that it begins with. Numbers
/// are decimal and without a sign, behind one space or more; a name stands behind exactly one. Nothing may follow the
/// last argument, except where beanstalkd does not look: behind `quit`, the number of `kick` and of
/// `reserve-with-timeout`, and the size of a body that is larger than `largest_body`, which is refused once it has
/// come. `kick` takes a number with a sign as C's strtoul does. The timeout of `reserve-with-timeout` is what C's atoi
/// makes of it, and a negative one waits for ever.
ClientCommand parse_command(std::string_view line, std::uint32_t largest_body);

} // namespace flat::server
