// Where the drivers and the libraries to be preloaded are on this machine.
#pragma once

#include "catalogue.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace flat::bench {

/// How Flatline built a peer that no package has.
struct Build {
    std::string version, source, compiler, flags;
};

/// A backend that can be run here.
struct Place {
    const Backend *backend;
    std::filesystem::path driver;       // for every suite but containers; empty where it is in no other
    std::filesystem::path preload{};    // empty where nothing is
    std::optional<Build> build{};       // of the library to be preloaded, where it is not the system's
    std::string instead{};              // why the system's library serves where a newer one was to be built; else empty
    std::filesystem::path containers{}; // the driver for that suite; empty where it is not in it
};

/// A backend that cannot, and how it is had or why it was not built.
struct Missing {
    const Backend *backend;
    std::string how;
};

struct Places {
    std::vector<Place> found;
    std::vector<Missing> missing;
};

/// libexec/flatline beside the bin/ that holds the running program, in a build tree and in an installed one alike.
std::filesystem::path drivers_directory();

/// Where the loader looks for libraries unless it is told otherwise, the administrator's before the distribution's.
std::vector<std::filesystem::path> library_directories();

const std::filesystem::path &driver_for(const Place &place, const Cell &cell);

/// `drivers` holds bench-<driver>, bench-containers-<driver>, and peers/lib<peer>.so with peers/<peer>.json beside it.
/// Throws std::runtime_error iff such a file is there and is not what peers/build.sh writes.
Places locate(const std::vector<const Backend *> &wanted, const std::filesystem::path &drivers,
              const std::vector<std::filesystem::path> &libraries);

} // namespace flat::bench
