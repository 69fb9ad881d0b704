// From a recording to what it shows.
#pragma once

#include "findings.hpp"
#include "history.hpp"

#include <cstddef>

namespace flat::audit {

/// What of the stacks is put in the words of the source, which takes 0.1 to 1 ms a stack and a program's debug
/// information.
enum class Stacks {
    sites, // of stalls the site and up to `callers_of_a_site` callers, and of the frames before and between them those
           // outside of the run-time libraries, whose debug information takes long to read; all where there is no site
    all    // every frame, and Findings::stacks
};

inline constexpr std::ptrdiff_t callers_of_a_site = 2;

/// Reads all of the recording, and the files that its stacks name. Some 20 million calls a second and processor.
Findings analyse(History &history, Stacks stacks);

} // namespace flat::audit
