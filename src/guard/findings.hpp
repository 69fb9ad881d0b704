// What the sections of a program did: the session of a guard, and its violations in the words of the source.
#pragma once

#include "session.h"

#include "../preload/session_memory.hpp"
#include "../symbols/source_frames.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace flat::guarded {

/// What is to be watched.
struct SessionWishes {
    std::vector<std::string> named_sections; // symbols
    bool realtime = false;
    std::uint32_t warm_up = 0;
};

/// The memory that the program under guard writes to. It stays readable however the program ends.
class Session {
  public:
    /// Throws std::runtime_error, which says what to do, iff there is no memory for it, there are too many named
    /// sections, or a name is too long.
    explicit Session(const SessionWishes &wishes);

    /// The path of the memory, for the environment variable GUARD_VARIABLE. It holds as long as the session.
    std::string path() const { return memory_.path(); }
    const guard_session &memory() const { return *memory_; }

  private:
    preload::SessionMemory<guard_session> memory_;
};

/// "malloc", "system call", and so on.
std::string word_of(guard_kind kind);

/// One or several equal violations: of one thread, in one section, with one stack.
struct Violation {
    guard_kind kind = GUARD_MALLOC;
    std::string system_call{}; // its name; empty for the other kinds but waits for a lock
    std::uint64_t count = 0;
    int process = 0, thread = 0;
    std::string thread_name{}, section{};
    std::vector<symbols::SourceFrame> stack{}; // innermost first
    std::size_t site = 0;                      // the frame of `stack` that is the program's own: where to look
    std::uint32_t met = 0;                     // grows in the order in which they were met
};

/// All violations of a session: by kind, the most frequent ones first, else in the order in which they were met.
std::vector<Violation> violations_of(const guard_session &session, symbols::SourceFrames &frames);

/// The section that was entered at a place, or that a number means, in words.
std::string section_name(const guard_session &session, std::uint64_t word, symbols::SourceFrames &frames);

/// The text of an entry of the session's table; empty if it is none.
std::string text_of(const guard_session &session, std::uint32_t entry);

} // namespace flat::guarded
