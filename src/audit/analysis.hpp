// From a recording to what it shows.
#pragma once

#include "findings.hpp"
#include "history.hpp"

namespace flat::audit {

/// Which stacks are put in the words of the source, at 0.1 to 1 ms each.
enum class Stacks { of_stalls, all }; // all: Findings::stacks too, of which there are none otherwise

/// Reads all of the recording, and the files that its stacks name. Some 20 million calls a second and processor.
Findings analyse(History &history, Stacks stacks);

} // namespace flat::audit
