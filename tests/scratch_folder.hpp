// A folder of a test's own: empty at first, gone at the end. Tests run side by side, hence the process in its name.
#ifndef FLATLINE_TESTS_SCRATCH_FOLDER_HPP
#define FLATLINE_TESTS_SCRATCH_FOLDER_HPP

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>

namespace test {

class scratch_folder {
  public:
    scratch_folder() { clear(); }
    ~scratch_folder() { std::filesystem::remove_all(path_); }
    scratch_folder(const scratch_folder &) = delete;
    scratch_folder &operator=(const scratch_folder &) = delete;

    const std::filesystem::path &path() const { return path_; }
    operator const std::filesystem::path &() const { return path_; }
    std::filesystem::path operator/(const std::filesystem::path &name) const { return path_ / name; }

    void clear() const {
        std::filesystem::remove_all(path_);
        std::filesystem::create_directories(path_);
    }

    // Writes a file, with the folders that lead to it.
    void put(const std::filesystem::path &name, const std::string &text) const {
        std::filesystem::create_directories((path_ / name).parent_path());
        std::ofstream(path_ / name) << text;
    }

  private:
    const std::filesystem::path path_ =
        std::filesystem::path(::testing::TempDir()) / ("flatline-" + std::to_string(getpid()));
};

} // namespace test

#endif
