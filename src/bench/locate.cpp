#include "locate.hpp"

#include <optional>

namespace flat::bench {
namespace {

namespace fs = std::filesystem;

std::optional<fs::path> find_in(const std::vector<fs::path> &directories, std::string_view name) {
    for (const fs::path &directory : directories) {
        std::error_code ignored;
        if (fs::is_regular_file(directory / name, ignored)) return directory / name;
    }
    return std::nullopt;
}

} // namespace

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
        const auto driver = find_in({drivers}, "bench-" + std::string(backend->driver));
        const auto preload = backend->preload.empty() ? fs::path() : find_in(libraries, backend->preload);
        if (driver && preload)
            places.found.push_back({backend, *driver, *preload});
        else
            places.missing.push_back(backend);
    }
    return places;
}

} // namespace flat::bench
