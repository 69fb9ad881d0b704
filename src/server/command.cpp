#include "command.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace flat::server {
namespace {

// What stands behind a verb. In `number`, `name` and their kin the verb's text ends with the space before it.
enum class Form : std::uint8_t {
    nothing,  // the line ends
    anything, // not looked at
    put,
    job,        // a job's number
    release,    // a job's number, a priority and a delay
    bury,       // a job's number and a priority
    name,       // a tube's
    name_delay, // a tube's, and a delay
    count,      // as strtoul reads it
    timeout     // as atoi reads it
};

struct Entry {
    std::string_view text;
    Verb verb;
    Form form;
};

// The first that a line begins with is its verb, so that a longer text stands before one that it begins with.
constexpr std::array verbs{
    Entry{"put ", Verb::put, Form::put},
    Entry{"peek-ready", Verb::peek_ready, Form::nothing},
    Entry{"peek-delayed", Verb::peek_delayed, Form::nothing},
    Entry{"peek-buried", Verb::peek_buried, Form::nothing},
    Entry{"peek ", Verb::peek, Form::job},
    Entry{"reserve-with-timeout ", Verb::reserve_with_timeout, Form::timeout},
    Entry{"reserve-job ", Verb::reserve_job, Form::job},
    Entry{"reserve", Verb::reserve, Form::nothing},
    Entry{"delete ", Verb::delete_job, Form::job},
    Entry{"release ", Verb::release, Form::release},
    Entry{"bury ", Verb::bury, Form::bury},
    Entry{"kick-job ", Verb::kick_job, Form::job},
    Entry{"kick ", Verb::kick, Form::count},
    Entry{"touch ", Verb::touch, Form::job},
    Entry{"stats-job ", Verb::stats_job, Form::job},
    Entry{"stats-tube ", Verb::stats_tube, Form::name},
    Entry{"stats", Verb::stats, Form::nothing},
    Entry{"use ", Verb::use, Form::name},
    Entry{"watch ", Verb::watch, Form::name},
    Entry{"ignore ", Verb::ignore, Form::name},
    Entry{"list-tubes-watched", Verb::list_tubes_watched, Form::nothing},
    Entry{"list-tube-used", Verb::list_tube_used, Form::nothing},
    Entry{"list-tubes", Verb::list_tubes, Form::nothing},
    Entry{"pause-tube", Verb::pause_tube, Form::name_delay},
    Entry{"quit", Verb::quit, Form::anything},
};

constexpr std::string_view name_bytes = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-+/;.$_()";

bool is_name(std::string_view text) {
    return !text.empty() && text.size() <= longest_tube_name && text.front() != '-' &&
           text.find_first_not_of(name_bytes) == text.npos;
}

void skip_spaces(std::string_view &rest) { rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size())); }

// A number at the front of `rest`, which is taken off. False: there is none, or it is out of range.
template <class Number> bool take(std::string_view &rest, Number &number) {
    skip_spaces(rest);
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    if (error != std::errc{}) return false;
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    return true;
}

// One that another number follows, behind a space.
template <class Number> bool take_first(std::string_view &rest, Number &number) {
    return take(rest, number) && rest.starts_with(' ');
}

template <class Number> bool take_last(std::string_view &rest, Number &number) {
    return take(rest, number) && rest.empty();
}

bool take_name_and_delay(std::string_view rest, ClientCommand &to) {
    skip_spaces(rest);
    to.tube = rest.substr(0, rest.find(' '));
    rest.remove_prefix(to.tube.size());
    return is_name(to.tube) && take_last(rest, to.delay);
}

// What C's functions skip before a number.
void skip_white_space(std::string_view &rest) {
    rest.remove_prefix(std::min(rest.find_first_not_of(" \t\n\v\f\r"), rest.size()));
}

// As C's strtoul reads it: one with a minus is negated, modulo 2^64.
bool take_count(std::string_view rest, std::uint64_t &count) {
    skip_white_space(rest);
    const bool is_negative = rest.starts_with('-');
    if (is_negative || rest.starts_with('+')) rest.remove_prefix(1);
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), count);
    if (is_negative) count = 0 - count;
    return error == std::errc{};
}

// As C's atoi reads it.
std::uint32_t timeout_of(std::string_view rest) {
    skip_white_space(rest);
    if (rest.starts_with('+') && !rest.starts_with("+-")) rest.remove_prefix(1);
    std::int64_t seconds = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), seconds);
    if (error == std::errc::result_out_of_range) seconds = rest.starts_with('-') ? INT64_MIN : INT64_MAX;
    const auto as_int = static_cast<std::int32_t>(seconds);
    return as_int < 0 ? no_timeout : static_cast<std::uint32_t>(as_int);
}

bool parse_arguments(Form form, std::string_view rest, std::uint32_t largest_body, ClientCommand &to) {
    switch (form) {
    case Form::nothing: return rest.empty();
    case Form::anything: return true;
    case Form::put:
        return take_first(rest, to.priority) && take_first(rest, to.delay) && take_first(rest, to.time_to_run) &&
               take(rest, to.size) && (rest.empty() || to.size > largest_body);
    case Form::job: return take_last(rest, to.job);
    case Form::release: return take_first(rest, to.job) && take_first(rest, to.priority) && take_last(rest, to.delay);
    case Form::bury: return take_first(rest, to.job) && take_last(rest, to.priority);
    case Form::name: to.tube = rest; return is_name(rest);
    case Form::name_delay: return take_name_and_delay(rest, to);
    case Form::count: return take_count(rest, to.count);
    case Form::timeout: to.timeout = timeout_of(rest); return true;
    }
    return false;
}

} // namespace

ClientCommand parse_command(std::string_view line, std::uint32_t largest_body) {
    ClientCommand command;
    for (const Entry &entry : verbs) {
        if (!line.starts_with(entry.text)) continue;
        command.verb = entry.verb;
        if (!parse_arguments(entry.form, line.substr(entry.text.size()), largest_body, command)) {
            command = ClientCommand();
            command.verb = Verb::bad_format;
        }
        break;
    }
    return command;
}

} // namespace flat::server
