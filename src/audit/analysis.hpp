// From a recording to what it shows.
#pragma once

#include "findings.hpp"
#include "history.hpp"

namespace flat::audit {

/// Reads all of the recording once, and the files that its stacks name. Some 10 million calls a second and processor.
Findings analyse(History &history);

} // namespace flat::audit
