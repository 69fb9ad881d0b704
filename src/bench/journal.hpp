// A campaign as far as it came, in a file, so that one that was interrupted can be gone on with.
#pragma once

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

namespace flat::bench {

/// A line of text for the head, which says what the campaign is, and one for each process that ran: what these lines
/// say is the matter of journal_entries.hpp.
///
/// Every function throws std::runtime_error iff the file cannot be read or written, with what to do.
class Journal {
  public:
    /// Makes the file, or empties it. `head` is one line.
    static Journal begin(const std::filesystem::path &file, const std::string &head);

    /// Reads the file, to go on with it. A last line that was cut off when the machine failed is dropped, from the file
    /// when something is appended: until then it is not changed, for it may be another file than was meant.
    static Journal go_on(const std::filesystem::path &file);

    const std::filesystem::path &file() const { return file_; }
    const std::string &head() const { return head_; }

    /// What was there when the file was read.
    const std::vector<std::string> &entries() const { return entries_; }

    /// `entry` is one line. It is on its way to the disk when this returns.
    void append(const std::string &entry);
    bool has_grown() const { return has_grown_; } // since it was begun or read

    /// The campaign is over.
    void remove();

  private:
    Journal() = default;

    std::filesystem::path file_;
    std::string head_;
    std::vector<std::string> entries_;
    std::ofstream out_;
    bool has_grown_ = false;
    std::optional<std::uintmax_t> whole_bytes_; // to cut the file to before the first line is appended
};

} // namespace flat::bench
