// Where the drivers and the libraries to be preloaded are on this machine.
#pragma once

#include "catalogue.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace flat::bench {

/// A backend that can be run here.
struct Place {
    const Backend *backend;
    std::filesystem::path driver;
    std::filesystem::path preload; // empty where nothing is
};

struct Places {
    std::vector<Place> found;
    std::vector<const Backend *> missing;
};

/// libexec/flatline beside the bin/ that holds the running program, in a build tree and in an installed one alike.
std::filesystem::path drivers_directory();

/// Where the loader looks for libraries unless it is told otherwise, the administrator's before the distribution's.
std::vector<std::filesystem::path> library_directories();

Places locate(const std::vector<const Backend *> &wanted, const std::filesystem::path &drivers,
              const std::vector<std::filesystem::path> &libraries);

} // namespace flat::bench
