// Where `flatline top` finds engines: in a running process, or in a file.
#pragma once

#include "engine_page.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace flat::cli {

struct FoundEngine {
    std::uint64_t key; // the same at each look, and no other engine's
    EnginePage page;
};

class EngineSource {
  public:
    virtual ~EngineSource() = default;

    /// All engines that are there now. Throws std::runtime_error iff something that is named like an engine's page is
    /// none, or cannot be read while its process runs.
    virtual std::vector<FoundEngine> look() = 0;

    /// Whether the process has ended: nothing will change any more.
    virtual bool has_ended() const = 0;

    virtual std::uint64_t process() const = 0;
    virtual std::string program() const = 0; // its name, "" if nobody knows
};

/// A target of digits alone is a process, any other a file. Throws std::runtime_error iff there is no such process or
/// file, or the process is another user's.
std::unique_ptr<EngineSource> engine_source(const std::string &target);

} // namespace flat::cli
