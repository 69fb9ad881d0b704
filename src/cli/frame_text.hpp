// Frames of stacks as the reports of `flatline audit` and `flatline guard` write them.
#pragma once

#include "symbols/source_frames.hpp"

#include <cstddef>
#include <string>

namespace flat::cli {

/// A function and where it is, of which no byte commands a terminal.
struct FrameText {
    std::string function; // "?" if it is not known
    std::string place;    // "render.cpp:123", from the working folder on if it is below that; may be empty
};

/// Cut so that function, mark and place need at most `columns`, of which `others` are for what stands between them. The
/// end of a place says more than its beginning, and of a function the beginning.
FrameText frame_text(const symbols::SourceFrame &frame, std::size_t columns, std::size_t others);

} // namespace flat::cli
