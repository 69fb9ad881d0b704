#include "library_path.hpp"

#include <cstdlib>
#include <stdexcept>

#include <fmt/format.h>

namespace flat::cli {

namespace fs = std::filesystem;

fs::path installed_library(const std::string &name) {
    const fs::path prefix = fs::read_symlink("/proc/self/exe").parent_path().parent_path();
    for (const char *folder : {FLATLINE_LIBRARY_FOLDER, "lib"})
        if (const fs::path library = prefix / folder / name; fs::exists(library)) return fs::canonical(library);
    throw std::runtime_error(fmt::format("there is no {} in {}: build or install Flatline again, on 64-bit Linux", name,
                                         (prefix / FLATLINE_LIBRARY_FOLDER).string()));
}

void set_variable(const char *name, const std::string &value) {
    if (setenv(name, value.c_str(), 1) != 0) throw std::runtime_error("there is not enough memory for the environment");
}

void preload_first(const std::string &library) {
    const char *others = std::getenv("LD_PRELOAD");
    set_variable("LD_PRELOAD", others == nullptr || *others == 0 ? library : fmt::format("{}:{}", library, others));
}

} // namespace flat::cli
