// Limits that a certificate must keep: another certificate's figures.
#pragma once

#include "certificate.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace flat::prove {

/// What is limited, by the name of its member in the document: the counts, and "stack_bytes".
using Limits = std::map<std::string, std::map<std::string, std::uint64_t>>; // by function

/// From a document flatline.prove/1, or a part of one: its `functions` with `name` and any of the figures. `file` is
/// named in messages. Throws std::runtime_error, which says what to do, iff the text is anything else.
Limits limits_from(std::string_view text, const std::string &file);

/// Each limit that is not kept: the figure that grew, and the lines that may have made it grow. Where `all` is set, a
/// proved function without a limit and a limit without a function are such too.
std::vector<std::string> exceeded(const Certificate &certificate, const Limits &limits, bool all, const Binary &binary,
                                  const SourceLines &lines);

} // namespace flat::prove
