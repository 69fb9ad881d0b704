// What each line means, by the answers of beanstalkd 1.12 to the same lines (tests/server/beanstalkd_test.py asks it).
#include "server/command.hpp"

#include <gtest/gtest.h>

#include <string>

namespace {

using flat::server::ClientCommand;
using flat::server::longest_tube_name;
using flat::server::no_timeout;
using flat::server::Verb;

constexpr std::uint32_t largest = 65535;

ClientCommand parse(std::string_view line) { return flat::server::parse_command(line, largest); }

const std::string longest_name(longest_tube_name, 'a');

struct Meaning {
    std::string line;
    Verb verb;
};

const Meaning meanings[] = {
    {"", Verb::unknown},
    {" ", Verb::unknown},
    {" stats", Verb::unknown},
    {"foo", Verb::unknown},
    {"PUT 0 0 1 1", Verb::unknown},
    {"put", Verb::unknown},
    {"put ", Verb::bad_format},
    {"put 0 0 1 0", Verb::put},
    {"put  0  0  1  1", Verb::put},
    {"put 0 0 1", Verb::bad_format},
    {"put 0 0 1 ", Verb::bad_format},
    {"put 0 0 1 1 ", Verb::bad_format},
    {"put 0 0 1 1 1", Verb::bad_format},
    {"put 0 0 1 1x", Verb::bad_format},
    {"put 0x 0 1 1", Verb::bad_format},
    {"put +0 0 1 1", Verb::bad_format},
    {"put -1 0 1 1", Verb::bad_format},
    {"put 0\t0 1 1", Verb::bad_format},
    {"put 4294967295 4294967295 4294967295 65535", Verb::put},
    {"put 4294967296 0 1 1", Verb::bad_format},
    {"put 0 4294967296 1 1", Verb::bad_format},
    {"put 0 0 4294967296 1", Verb::bad_format},
    {"put 0 0 1 4294967295", Verb::put},
    {"put 0 0 1 4294967296", Verb::bad_format},
    {"put 0 0 1 65536 x", Verb::put},
    {"put 0 0 1 65535 x", Verb::bad_format},
    {"reserve", Verb::reserve},
    {"reserve ", Verb::bad_format},
    {"reserve x", Verb::bad_format},
    {"reserved", Verb::bad_format},
    {"reserve-", Verb::bad_format},
    {"reserve-with", Verb::bad_format},
    {"reserve-with-timeout", Verb::bad_format},
    {"reserve-with-timeout ", Verb::reserve_with_timeout},
    {"reserve-with-timeout 0", Verb::reserve_with_timeout},
    {"reserve-with-timeout  0x", Verb::reserve_with_timeout},
    {"reserve-job", Verb::bad_format},
    {"reserve-job 1", Verb::reserve_job},
    {"reserve-job  1", Verb::reserve_job},
    {"reserve-job 1 ", Verb::bad_format},
    {"reserve-job 1x", Verb::bad_format},
    {"delete", Verb::unknown},
    {"delete ", Verb::bad_format},
    {"delete 1", Verb::delete_job},
    {"delete  01", Verb::delete_job},
    {"delete 1 ", Verb::bad_format},
    {"delete -1", Verb::bad_format},
    {"delete \t1", Verb::bad_format},
    {"delete 18446744073709551615", Verb::delete_job},
    {"delete 18446744073709551616", Verb::bad_format},
    {"release 1 0 0", Verb::release},
    {"release 1 0", Verb::bad_format},
    {"release 1 0 0 ", Verb::bad_format},
    {"release 1 0 0x", Verb::bad_format},
    {"bury 1 0", Verb::bury},
    {"bury 1", Verb::bad_format},
    {"bury 1 0 0", Verb::bad_format},
    {"bury 1 4294967296", Verb::bad_format},
    {"touch 1", Verb::touch},
    {"touch", Verb::unknown},
    {"touch 1 ", Verb::bad_format},
    {"touch x", Verb::bad_format},
    {"kick 1", Verb::kick},
    {"kick", Verb::unknown},
    {"kick ", Verb::bad_format},
    {"kick x", Verb::bad_format},
    {"kick 1 2", Verb::kick},
    {"kick 1x", Verb::kick},
    {"kick -1", Verb::kick},
    {"kick - 1", Verb::bad_format},
    {"kick 18446744073709551616", Verb::bad_format},
    {"kick-job", Verb::unknown},
    {"kick-job ", Verb::bad_format},
    {"kick-job 1", Verb::kick_job},
    {"kick-job 1 1", Verb::bad_format},
    {"peek", Verb::unknown},
    {"peek-", Verb::unknown},
    {"peek 1", Verb::peek},
    {"peek 1 x", Verb::bad_format},
    {std::string("peek 1\0", 7), Verb::bad_format},
    {"peek-ready", Verb::peek_ready},
    {"peek-ready ", Verb::bad_format},
    {"peek-readyx", Verb::bad_format},
    {"peek-delayed", Verb::peek_delayed},
    {"peek-delayedx", Verb::bad_format},
    {"peek-buried", Verb::peek_buried},
    {"use a", Verb::use},
    {"use", Verb::unknown},
    {"use ", Verb::bad_format},
    {"use  a", Verb::bad_format},
    {"use a b", Verb::bad_format},
    {"use a ", Verb::bad_format},
    {"use -a", Verb::bad_format},
    {"use a-", Verb::use},
    {"use a,b", Verb::bad_format},
    {"use a_b+c-d/e;f.g$h(i)", Verb::use},
    {"use 1", Verb::use},
    {std::string("use a\0b", 7), Verb::bad_format},
    {"use " + longest_name, Verb::use},
    {"use " + longest_name + "a", Verb::bad_format},
    {"watch a", Verb::watch},
    {"watch", Verb::unknown},
    {"watch a ", Verb::bad_format},
    {"ignore a", Verb::ignore},
    {"ignore -a", Verb::bad_format},
    {"ignore a b", Verb::bad_format},
    {"list-tubes", Verb::list_tubes},
    {"list-tubes ", Verb::bad_format},
    {"list-tubesx", Verb::bad_format},
    {"list-tube", Verb::unknown},
    {"list-tube-used", Verb::list_tube_used},
    {"list-tube-usedx", Verb::bad_format},
    {"list-tubes-watched", Verb::list_tubes_watched},
    {"list-tubes-watchedx", Verb::bad_format},
    {"stats", Verb::stats},
    {"stats ", Verb::bad_format},
    {"statsx", Verb::bad_format},
    {"stats-job", Verb::bad_format},
    {"stats-job  9", Verb::stats_job},
    {"stats-job 1 ", Verb::bad_format},
    {"stats-tube", Verb::bad_format},
    {"stats-tube ", Verb::bad_format},
    {"stats-tube a", Verb::stats_tube},
    {"stats-tube a b", Verb::bad_format},
    {"stats-tube -a", Verb::bad_format},
    {"pause-tube", Verb::bad_format},
    {"pause-tube a", Verb::bad_format},
    {"pause-tube a 0", Verb::pause_tube},
    {"pause-tube  a  0", Verb::pause_tube},
    {"pause-tube a 0 ", Verb::bad_format},
    {"pause-tube a x", Verb::bad_format},
    {"pause-tube -a 0", Verb::bad_format},
    {"pause-tube a 4294967296", Verb::bad_format},
    {"pause-tube " + longest_name + " 0", Verb::pause_tube},
    {"pause-tube " + longest_name + "a 0", Verb::bad_format},
    {"quit", Verb::quit},
    {"quit x", Verb::quit},
    {"quitx", Verb::quit},
};

} // namespace

TEST(command, has_the_verb_that_beanstalkd_sees_in_it) {
    for (const Meaning &each : meanings) EXPECT_EQ(parse(each.line).verb, each.verb) << "\"" << each.line << "\"";
}

TEST(command, has_its_arguments) {
    const ClientCommand put = parse("put 4294967295 4294967294 4294967293 65535");
    EXPECT_EQ(put.priority, 4294967295u);
    EXPECT_EQ(put.delay, 4294967294u);
    EXPECT_EQ(put.time_to_run, 4294967293u);
    EXPECT_EQ(put.size, largest);
    const ClientCommand release = parse("release 18446744073709551615 7 8");
    EXPECT_EQ(release.job, UINT64_MAX);
    EXPECT_EQ(release.priority, 7u);
    EXPECT_EQ(release.delay, 8u);
    EXPECT_EQ(parse("bury 3 4").priority, 4u);
    const ClientCommand pause = parse("pause-tube  a/b 9");
    EXPECT_EQ(pause.tube, "a/b");
    EXPECT_EQ(pause.delay, 9u);
    EXPECT_EQ(parse("watch " + longest_name).tube, longest_name);
    EXPECT_EQ(parse("kick 00012x").count, 12u);
    EXPECT_EQ(parse("kick -1").count, UINT64_MAX);
    EXPECT_EQ(parse("kick +5").count, 5u);
}

TEST(command, a_timeout_is_what_atoi_makes_of_it) {
    const std::pair<const char *, std::uint32_t> timeouts[] = {{"", 0},
                                                               {"x", 0},
                                                               {"1x", 1},
                                                               {"  7 8", 7},
                                                               {"+3", 3},
                                                               {"-0", 0},
                                                               {"-5", no_timeout},
                                                               {"2147483647", 2147483647},
                                                               {"2147483648", no_timeout},
                                                               {"4294967296", 0},
                                                               {"--1", 0}};
    for (const auto &[text, timeout] : timeouts) {
        EXPECT_EQ(parse("reserve-with-timeout " + std::string(text)).timeout, timeout) << text;
    }
}

TEST(command, what_is_refused_has_nothing_else) {
    const ClientCommand command = parse("put 1 2 3 4x");
    EXPECT_EQ(command.verb, Verb::bad_format);
    EXPECT_EQ(command.priority + command.delay + command.time_to_run + command.size, 0u);
}
