// What an engine recorded of its tasks (flat_engine_write_record), as a workload that is replayed.
#pragma once

#include "workload.hpp"

#include <cstdint>
#include <string_view>

namespace flat::simulate {

struct Recording {
    Workload workload{}; ///< its times are such that a task takes `usual_service` ticks on average
    double mean_service_ns = 0;
    std::uint64_t missed = 0; ///< tasks that were done after the record was full
};

/// Of the text of a record. A task takes as long on every shard as it took where it ran. Throws std::runtime_error iff
/// it is none, with the number of the line and what is wrong there.
Recording recording_of(std::string_view text);

} // namespace flat::simulate
