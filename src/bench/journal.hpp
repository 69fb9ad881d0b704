// A campaign as far as it came, in a file, so that one that was interrupted can be gone on with.
#pragma once

#include "protocol.hpp"

#include <filesystem>
#include <fstream>
#include <string>
#include <variant>
#include <vector>

namespace flat::bench {

/// What came of one process: its report, or why there is none.
using Entry = std::variant<DriverReport, std::string>;

/// A line of text for the head, which says what the campaign is, and one for each process that ran. What a process
/// measured is kept whole: as how often each value occurred, or in its order where the order matters.
///
/// Every function throws std::runtime_error iff the file cannot be read or written, with what to do.
class Journal {
  public:
    /// Makes the file, or empties it. `head` is one line.
    static Journal begin(const std::filesystem::path &file, const std::string &head);

    /// Reads the file, to go on with it. A last line that was cut off when the machine failed is dropped.
    static Journal go_on(const std::filesystem::path &file);

    const std::filesystem::path &file() const { return file_; }
    const std::string &head() const { return head_; }

    /// What was there when the file was read.
    const std::vector<Entry> &entries() const { return entries_; }

    /// Is on its way to the disk when this returns.
    void append(const Entry &entry, bool in_order);

    /// The campaign is over.
    void remove();

  private:
    Journal() = default;

    void write(const std::string &line);

    std::filesystem::path file_;
    std::string head_;
    std::vector<Entry> entries_;
    std::ofstream out_;
};

} // namespace flat::bench
