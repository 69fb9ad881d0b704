#include "preload_path.hpp"

#include <cerrno>
#include <cstdint>
#include <stdexcept>
#include <string_view>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace flat::bench {
namespace {

namespace fs = std::filesystem;

bool can_be_named(const fs::path &library) { return library.string().find_first_of(" :\t\n") == std::string::npos; }

/// A name for each library (FNV-1a), so that two installations do not use each other's link.
std::uint64_t digest_of(std::string_view text) {
    std::uint64_t digest = 14695981039346656037u;
    for (const char each : text) digest = (digest ^ static_cast<unsigned char>(each)) * 1099511628211u;
    return digest;
}

/// A folder that no other user may write to. Another user can create one of that name beforehand, so this is checked.
bool is_own_folder(const fs::path &folder) {
    struct stat about{};
    if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return false;
    return lstat(folder.c_str(), &about) == 0 && S_ISDIR(about.st_mode) && about.st_uid == geteuid() &&
           (about.st_mode & 022) == 0;
}

bool leads_to(const fs::path &link, const fs::path &library) {
    std::error_code none;
    return fs::read_symlink(link, none) == library;
}

} // namespace

fs::path preload_path(const fs::path &library) {
    if (can_be_named(library)) return library;
    for (const char *place : {"/tmp", "/dev/shm", "/var/tmp"}) {
        const fs::path folder = fs::path(place) / fmt::format("flatline-{}", geteuid());
        const fs::path link = folder / fmt::format("{:016x}.so", digest_of(library.string()));
        if (!is_own_folder(folder)) continue;
        if (symlink(library.c_str(), link.c_str()) == 0 || leads_to(link, library)) return link;
    }
    throw std::runtime_error(fmt::format("{}: the loader splits LD_PRELOAD at spaces and colons, and no link to this "
                                         "file can be created in /tmp: install Flatline in a folder without them",
                                         library.string()));
}

} // namespace flat::bench
