#include "frame_text.hpp"

#include "audit/readable.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

namespace flat::cli {
namespace {

/// The library if the file is not known; or nothing.
std::string place_of(const symbols::SourceFrame &frame) {
    namespace fs = std::filesystem;
    if (frame.file.empty()) return fs::path(frame.module).filename().string();
    std::error_code unknown;
    const std::string here = fs::current_path(unknown).string() + "/";
    const bool below = here.size() > 1 && frame.file.starts_with(here);
    const std::string file = below ? frame.file.substr(here.size()) : frame.file;
    return frame.line == 0 ? file : fmt::format("{}:{}", file, frame.line);
}

} // namespace

FrameText frame_text(const symbols::SourceFrame &frame, std::size_t columns, std::size_t others) {
    constexpr std::size_t place_width = 44; // that a long function leaves to the place
    const std::size_t room = columns - std::min(columns, others);
    const std::string name = audit::readable(frame.function.empty() ? "?" : frame.function),
                      whole_place = audit::readable(place_of(frame));
    const std::size_t beside_name = room - std::min(room, audit::columns_in(name));
    const std::string place = audit::without_beginning(whole_place, std::max(place_width, beside_name));
    return {audit::without_end(name, room - std::min(room, audit::columns_in(place))), place};
}

} // namespace flat::cli
