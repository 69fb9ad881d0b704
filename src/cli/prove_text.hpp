// A certificate as text for a terminal.
#pragma once

#include "prove/certificate.hpp"
#include "terminal.hpp"

#include <string>

namespace flat::cli {

/// The figures of each function, or the reason why it has none.
std::string prove_text(const prove::Certificate &certificate, const prove::Binary &binary,
                       const prove::SourceLines &lines, const Look &look);

/// The time that the longest path of each proved function may take on this machine; empty if none is proved.
std::string estimate_text(const prove::Certificate &certificate, const prove::MachineEstimate &estimate,
                          const Look &look);

/// The longest path of each proved function by instructions: source lines next to machine code.
std::string path_text(const prove::Certificate &certificate, const prove::SourceLines &lines, const Look &look);

} // namespace flat::cli
