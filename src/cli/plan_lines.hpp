// What the parts of a plan on a terminal are made of.
#pragma once

#include "terminal.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace flat::cli {

/// "64 B", "4 KiB", "1 GiB"; any other size is in bytes.
std::string size_text(std::uint64_t bytes);

double percent_of(std::uint64_t part, std::uint64_t whole);

/// A line of the summary: its topic, and next to it a sentence that is wrapped.
std::string about(std::string_view what, const std::string &sentence, const Look &look, Style style = Style::plain);

/// A table under its title; nothing if the table is empty.
std::string section(const std::string &title, const std::string &text, const Look &look);

} // namespace flat::cli
