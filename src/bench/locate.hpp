// Finds the drivers and the libraries to preload on this machine.
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
    std::filesystem::path driver;       // for every suite but containers; empty if it is in no other
    std::filesystem::path preload{};    // empty if none is preloaded
    std::optional<Build> build{};       // of the preloaded library, if it is not the system's
    std::string instead{};              // why the system's library is used although a newer one was to be built; else
                                        // empty
    std::filesystem::path containers{}; // the driver for that suite; empty if it is not in it
};

/// A backend that cannot be run here, and how to get it or why it was not built.
struct Missing {
    const Backend *backend;
    std::string how;
};

struct Places {
    std::vector<Place> found;
    std::vector<Missing> missing;
};

/// libexec/flatline next to the bin/ that holds the running program, both in a build tree and when installed.
std::filesystem::path drivers_directory();

/// The directories in which the loader looks for libraries by default, the administrator's before the distribution's.
std::vector<std::filesystem::path> library_directories();

const std::filesystem::path &driver_for(const Place &place, const Cell &cell);

/// `drivers` holds bench-<driver>, bench-containers-<driver>, and peers/lib<peer>.so with peers/<peer>.json next to it.
/// Throws std::runtime_error iff such a file exists and is not what peers/build.sh writes.
Places locate(const std::vector<const Backend *> &wanted, const std::filesystem::path &drivers,
              const std::vector<std::filesystem::path> &libraries);

} // namespace flat::bench
