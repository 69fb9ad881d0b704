// How the loader is told of a library that it is to preload.
#pragma once

#include <filesystem>

namespace flat::bench {

/// LD_PRELOAD is split at spaces and colons, and knows no way to write one. Returns `library` where it has none of
/// them; else the path of a link to it, in a folder of this user's that stays (/tmp/flatline-UID), so that programs
/// find it as long as they run. Throws std::runtime_error, which says what to do, iff no such link could be made.
std::filesystem::path preload_path(const std::filesystem::path &library);

} // namespace flat::bench
