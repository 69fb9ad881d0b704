#include "cli/terminal.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include <fcntl.h>
#include <pty.h>
#include <unistd.h>

using namespace flat::cli;

namespace {

/// A pseudo-terminal of 70 columns.
class Pty {
  public:
    Pty() {
        winsize size{};
        size.ws_col = 70;
        size.ws_row = 20;
        EXPECT_EQ(openpty(&outer_, &inner_, nullptr, nullptr, &size), 0);
    }
    ~Pty() {
        close(outer_);
        close(inner_);
    }
    int descriptor() const { return inner_; }

  private:
    int outer_ = -1, inner_ = -1;
};

} // namespace

TEST(terminal, has_colours_and_its_own_width) {
    unsetenv("NO_COLOR");
    const Pty pty;
    const Look look = Look::of(pty.descriptor());
    EXPECT_TRUE(look.terminal);
    EXPECT_EQ(look.width, 70U);
    EXPECT_EQ(look.dress("best", Style::good), "\x1b[32mbest\x1b[0m");
    EXPECT_EQ(look.dress("plain", Style::plain), "plain");
}

TEST(terminal, has_no_colours_where_they_are_unwanted) {
    setenv("NO_COLOR", "1", 1);
    const Pty pty;
    EXPECT_EQ(Look::of(pty.descriptor()).dress("best", Style::good), "best");
    unsetenv("NO_COLOR");
}

TEST(terminal, a_file_has_no_colours_and_a_hundred_columns) {
    const int file = open("/dev/null", O_WRONLY);
    const Look look = Look::of(file);
    close(file);
    EXPECT_FALSE(look.terminal);
    EXPECT_EQ(look.width, 100U);
    EXPECT_EQ(look.dress("best", Style::good), "best");
}
