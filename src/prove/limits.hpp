// Limits that a certificate must keep: another certificate's figures.
#pragma once

#include "certificate.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace flat::prove {

/// The limited figures, by the name of their member in the document: the counts, and "stack_bytes".
using Limits = std::map<std::string, std::map<std::string, std::uint64_t>>; // by function

/// Reads a document flatline.prove/1, or a part of one: its `functions` with `name` and any of the figures. `file` is
/// named in messages. Throws std::runtime_error, whose message says what to do, iff the text is anything else.
Limits limits_from(std::string_view text, const std::string &file);

/// The limits that are exceeded: each with the figure that grew, and the lines that may have made it grow. If `all` is
/// set, the list also has each proved function without a limit and each limit without a function.
std::vector<std::string> exceeded(const Certificate &certificate, const Limits &limits, bool all, const Binary &binary,
                                  const SourceLines &lines);

} // namespace flat::prove
