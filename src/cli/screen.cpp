#include "screen.hpp"

#include <algorithm>
#include <cstdio>

// ncurses defines macros of common names; nothing else is included after it.
#define NCURSES_NOMACROS 1
#include <ncurses.h>

namespace flat::cli {
namespace {

enum Pair : short { pair_good = 1, pair_bad = 2 };

attr_t attributes_of(Style style, bool colours) {
    switch (style) {
    case Style::plain: return A_NORMAL;
    case Style::strong: return A_BOLD;
    case Style::faint: return A_DIM;
    case Style::good: return colours ? static_cast<attr_t>(COLOR_PAIR(pair_good)) : A_NORMAL;
    case Style::bad: return colours ? static_cast<attr_t>(COLOR_PAIR(pair_bad)) : A_BOLD;
    }
    return A_NORMAL;
}

} // namespace

// newterm, unlike initscr, returns where the terminal is unknown.
Screen::Screen(bool colours) {
    if (newterm(nullptr, stdout, stdin) == nullptr) return;
    open_ = true;
    (void)cbreak(); // what a terminal lacks of these is left out
    (void)noecho();
    (void)keypad(stdscr, TRUE);
    (void)curs_set(0);
    colours_ = colours && has_colors() && start_color() == OK && use_default_colors() == OK;
    if (!colours_) return;
    (void)init_pair(pair_good, COLOR_GREEN, -1);
    (void)init_pair(pair_bad, COLOR_RED, -1);
}

Screen::~Screen() {
    if (open_) (void)endwin();
}

std::size_t Screen::width() const { return static_cast<std::size_t>(std::max(getmaxx(stdscr), 1)); }
std::size_t Screen::height() const { return static_cast<std::size_t>(std::max(getmaxy(stdscr), 1)); }

void Screen::draw(const std::vector<StyledLine> &lines, std::size_t first) {
    (void)werase(stdscr);
    for (std::size_t row = 0; row < height() && first + row < lines.size(); ++row) {
        (void)wmove(stdscr, static_cast<int>(row), 0);
        std::size_t left = width();
        for (const auto &[text, style] : lines[first + row]) {
            const std::size_t shown = std::min(left, text.size());
            (void)wattrset(stdscr, static_cast<int>(attributes_of(style, colours_)));
            (void)waddnstr(stdscr, text.c_str(), static_cast<int>(shown)); // fails only in the last corner
            left -= shown;
        }
    }
    (void)wattrset(stdscr, A_NORMAL);
    (void)wrefresh(stdscr);
}

Screen::Key Screen::wait(int milliseconds) {
    wtimeout(stdscr, milliseconds);
    switch (wgetch(stdscr)) {
    case 'q':
    case 'Q': return Key::quit;
    case KEY_UP:
    case 'k': return Key::up;
    case KEY_DOWN:
    case 'j': return Key::down;
    case KEY_PPAGE: return Key::page_up;
    case KEY_NPAGE:
    case ' ': return Key::page_down;
    case KEY_HOME: return Key::home;
    case KEY_RESIZE: return Key::resized;
    default: return Key::none;
    }
}

} // namespace flat::cli
