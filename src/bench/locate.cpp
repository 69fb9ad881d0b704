#include "locate.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <stdexcept>

#include <nlohmann/json.hpp>

namespace flat::bench {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view from_the_system = "the system's library, since this build has none of its own";

std::string or_else(const std::string &text, std::string_view otherwise) {
    return text.empty() ? std::string(otherwise) : text;
}

std::optional<fs::path> find_in(const std::vector<fs::path> &directories, std::string_view name) {
    for (const fs::path &directory : directories) {
        std::error_code ignored;
        if (fs::is_regular_file(directory / name, ignored)) return directory / name;
    }
    return std::nullopt;
}

/// The record that peers/build.sh wrote about a peer: how it was built, or why it was not.
struct Record {
    std::optional<Build> build;
    std::string missing;
};

Record read_record(const fs::path &file) {
    std::ifstream in(file);
    if (!in) return {};
    try {
        const auto record = nlohmann::json::parse(in);
        if (record.contains("missing")) return {std::nullopt, record.at("missing")};
        return {Build{record.at("version"), record.at("source"), record.at("compiler"), record.at("flags")}, ""};
    } catch (const nlohmann::json::exception &error) {
        throw std::runtime_error(file.string() + " is damaged: remove it and build Flatline again");
    }
}

/// Finds the library that `place` needs preloaded. Returns why there is none, or an empty text. `drivers` is
/// libexec/flatline.
std::string find_library(Place &place, const fs::path &drivers, const std::vector<fs::path> &libraries) {
    const Backend &backend = *place.backend;
    const fs::path peers = drivers / "peers", prefix = drivers.parent_path().parent_path();
    if (!backend.own.empty()) {
        const auto own = find_in({prefix / FLATLINE_LIBRARY_FOLDER, prefix / "lib"}, backend.own);
        if (own) place.preload = *own;
        return own ? "" : std::string(backend.how);
    }
    Record record;
    if (!backend.peer.empty()) {
        const std::string peer(backend.peer);
        record = read_record(peers / (peer + ".json"));
        if (const auto built = find_in({peers}, "lib" + peer + ".so")) {
            place.preload = *built;
            place.build = record.build;
            return "";
        }
    }
    if (backend.preload.empty()) return backend.peer.empty() ? "" : or_else(record.missing, backend.how);
    const auto packaged = find_in(libraries, backend.preload);
    if (!packaged) return or_else(record.missing, backend.how);
    place.preload = *packaged;
    if (!backend.peer.empty()) place.instead = or_else(record.missing, from_the_system);
    return "";
}

Place place_of(const Backend &backend, const fs::path &drivers) {
    Place place{&backend, {}};
    const std::string driver(backend.driver);
    if (runs_calls(backend)) place.driver = drivers / ("bench-" + driver);
    if (runs_containers(backend)) place.containers = drivers / ("bench-containers-" + driver);
    return place;
}

bool has_its_drivers(const Place &place) {
    return std::ranges::all_of(std::array{place.driver, place.containers}, [](const fs::path &driver) {
        std::error_code ignored;
        return driver.empty() || fs::is_regular_file(driver, ignored);
    });
}

} // namespace

const fs::path &driver_for(const Place &place, const Cell &cell) {
    return suite_of(cell).has_rounds ? place.containers : place.driver;
}

fs::path drivers_directory() {
    return fs::read_symlink("/proc/self/exe").parent_path().parent_path() / "libexec" / "flatline";
}

std::vector<fs::path> library_directories() {
    std::vector<fs::path> all;
    for (const char *root : {"/usr/local/lib", "/usr/lib", "/lib"}) {
        if (!std::string_view(FLATLINE_LIBRARY_ARCHITECTURE).empty())
            all.push_back(fs::path(root) / FLATLINE_LIBRARY_ARCHITECTURE);
        all.emplace_back(root);
    }
    all.emplace_back("/usr/lib64");
    return all;
}

Places locate(const std::vector<const Backend *> &wanted, const fs::path &drivers,
              const std::vector<fs::path> &libraries) {
    Places places;
    for (const Backend *backend : wanted) {
        Place place = place_of(*backend, drivers);
        const std::string reason = find_library(place, drivers, libraries);
        if (reason.empty() && has_its_drivers(place))
            places.found.push_back(std::move(place));
        else
            places.missing.push_back({backend, reason.empty() ? std::string(backend->how) : reason});
    }
    return places;
}

} // namespace flat::bench
