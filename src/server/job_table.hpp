// From an id to its job.
#pragma once

#include "job.hpp"

#include <span>

namespace flat::server {

/// Jobs by the number of their arrival, id / slots. A bucket has at most `deepest` jobs, which whoever chooses the id
/// sees to: so each function is at most that many steps.
class JobTable {
  public:
    static constexpr unsigned deepest = 8;

    /// `buckets` are null, a power of two of them, and at least a quarter as many as there can be jobs. They outlive
    /// it.
    explicit JobTable(std::span<Job *> buckets) : buckets_(buckets) {}

    Job *find(std::uint64_t id) const {
        Job *job = bucket_of(id);
        while (job != nullptr && job->id != id) job = job->next_in_table;
        return job;
    }

    bool has_room(std::uint64_t id) const {
        unsigned depth = 0;
        for (const Job *job = bucket_of(id); job != nullptr; job = job->next_in_table) depth++;
        return depth < deepest;
    }

    void insert(Job &job) {
        job.next_in_table = bucket_of(job.id);
        bucket_of(job.id) = &job;
    }

    void erase(Job &job) {
        Job **at = &bucket_of(job.id);
        while (*at != &job) at = &(*at)->next_in_table;
        *at = job.next_in_table;
    }

  private:
    Job *&bucket_of(std::uint64_t id) const { return buckets_[id / slots & (buckets_.size() - 1)]; }

    std::span<Job *> buckets_;
};

} // namespace flat::server
