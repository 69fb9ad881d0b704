// The path by which the loader preloads a library.
#pragma once

#include <filesystem>

namespace flat::bench {

/// LD_PRELOAD is split at spaces and colons, and has no way to escape them. Returns `library` if its path has none of
/// them. Otherwise returns the path of a link to it, in a folder of this user's that stays (/tmp/flatline-UID), so that
/// programs find it as long as they run. Throws std::runtime_error, which says what to do, iff no such link could be
/// created.
std::filesystem::path preload_path(const std::filesystem::path &library);

} // namespace flat::bench
