// The finished part of a campaign, in a file, so that an interrupted campaign can be resumed.
#pragma once

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

namespace flat::bench {

/// A head line, which identifies the campaign, and a line for each process that ran. journal_entries.hpp defines the
/// content of these lines.
///
/// Every function throws std::runtime_error iff the file cannot be read or written; the message says what to do.
class Journal {
  public:
    /// Creates the file, or empties it. `head` is one line.
    static Journal begin(const std::filesystem::path &file, const std::string &head);

    /// Reads the file, to resume from it. If the machine failed and cut off the last line, that line is dropped. It is
    /// removed from the file only when something is appended: until then the file is not changed, since it may be the
    /// wrong file.
    static Journal go_on(const std::filesystem::path &file);

    const std::filesystem::path &file() const { return file_; }
    const std::string &head() const { return head_; }

    /// The entries that the file had when it was read.
    const std::vector<std::string> &entries() const { return entries_; }

    /// Appends `entry`, which is one line. The line is on its way to the disk when this returns.
    void append(const std::string &entry);
    bool has_grown() const { return has_grown_; } // since begin() or go_on()

    /// Removes the file: the campaign is over.
    void remove();

  private:
    Journal() = default;

    std::filesystem::path file_;
    std::string head_;
    std::vector<std::string> entries_;
    std::ofstream out_;
    bool has_grown_ = false;
    std::optional<std::uintmax_t> whole_bytes_; // the length to cut the file to before the first line is appended
};

} // namespace flat::bench
