// The command that some verbs run: the words behind "--", exactly as they were given.
#pragma once

#include <string>
#include <vector>

namespace flat::cli {

/// A command line, of which the parser of options sees the part in front of "--" alone: it would take a word in
/// brackets, "[a,b]", for a list, and drop an empty one.
class CommandWords {
  public:
    /// Splits the command line of a verb that runs a command: audit, guard or run. That of another verb stays whole.
    CommandWords(int argc, char **argv);

    int count() const { return static_cast<int>(own_.size()) - 1; }
    char **own() { return own_.data(); }

    /// Makes `command`, which the parser has filled with words that stood without "--", the command to run. Throws
    /// std::runtime_error, with a message that says what to do, iff there are words on both sides, or one that the
    /// parser has taken apart.
    void complete(std::vector<std::string> &command) const;

  private:
    std::vector<char *> own_; // ends with a null pointer, as argv does
    std::vector<std::string> behind_;
    bool splits_ = false, has_list_ = false;
};

} // namespace flat::cli
