// Reads the documents that `flatline simulate --json` wrote.
#pragma once

#include <string>

namespace flat::cli {

/// Whether the text says of itself that it is a flatline.simulate document, of any version and whether it is whole or
/// not.
bool is_simulation(const std::string &text);

/// Throws std::runtime_error, with a message that says what to do, iff the text is not flatline.simulate/1 or lacks
/// something that its page shows.
void require_simulation(const std::string &text);

} // namespace flat::cli
