#include "pool_trial.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include <fmt/format.h>
#include <sys/mman.h>

namespace flat::plan {
namespace {

constexpr std::uint64_t page = 4096;

/// Whole pages, of which the pool is given the first bytes. Pages that nobody touches take no memory.
void *mapped(std::uint64_t bytes) {
    void *start = mmap(nullptr, std::max<std::uint64_t>(bytes, 1), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED)
        throw std::runtime_error(fmt::format("{} bytes cannot be mapped to try the plan: {}: plan one thread or phase "
                                             "at a time",
                                             bytes, std::strerror(errno)));
    return start;
}

std::vector<flat_class> without_a_block(std::vector<flat_class> classes, std::size_t index) {
    --classes[index].block_count;
    return classes;
}

} // namespace

PoolTrial::PoolTrial(const std::vector<flat_class> &classes, std::uint64_t less_block_bytes,
                     std::uint64_t less_metadata_bytes) {
    const flat_pool_options options{classes.data(), classes.size()};
    flat_footprint need{};
    if (flat_pool_footprint(&options, &need) != FLAT_OK) return;
    static_assert(FLAT_POOL_MAX_ALIGNMENT <= page);
    blocks_memory_ = {mapped(need.block_bytes), need.block_bytes};
    metadata_memory_ = {mapped(need.metadata_bytes), need.metadata_bytes};
    if (flat_pool_init(&pool_, &options, {metadata_memory_.start, need.metadata_bytes - less_metadata_bytes},
                       {blocks_memory_.start, need.block_bytes - less_block_bytes}) != FLAT_OK)
        pool_ = nullptr;
}

PoolTrial::~PoolTrial() {
    flat_pool_destroy(pool_);
    for (const Memory &memory : {blocks_memory_, metadata_memory_})
        if (memory.start != nullptr) (void)munmap(memory.start, std::max<std::uint64_t>(memory.bytes, 1));
}

bool PoolTrial::take(std::uint32_t slot, std::uint64_t size, std::uint64_t alignment) {
    if (slot >= blocks_.size()) blocks_.resize(std::max<std::size_t>(slot + std::size_t{1}, blocks_.size() * 2));
    if (pool_ == nullptr) return false;
    blocks_[slot] =
        alignment <= FLAT_POOL_GRANULE ? flat_pool_alloc(pool_, size) : flat_pool_aligned_alloc(pool_, alignment, size);
    return blocks_[slot] != nullptr;
}

void PoolTrial::give(std::uint32_t slot) {
    if (pool_ == nullptr || slot >= blocks_.size()) return;
    if (flat_pool_free(pool_, blocks_[slot]) != FLAT_OK)
        throw std::runtime_error("the pool refused a free of the recording: please report it, with the recording");
    blocks_[slot] = nullptr;
}

bool Exactness::holds() const {
    return refused == 0 && a_byte_less_is_refused &&
           std::ranges::all_of(by_class, [](const BlockLess &each) { return each.is_refused(); });
}

ExactnessTrial::ExactnessTrial(const std::vector<flat_class> &planned, const std::vector<flat_class> &exact,
                               const ClassMeter &meter)
    : meter_(meter), whole_(std::make_unique<PoolTrial>(planned)) {
    result_.a_byte_less_is_refused = !PoolTrial(planned, 1, 0).is_ready() && !PoolTrial(planned, 0, 1).is_ready();
    for (std::size_t i = 0; i < exact.size(); ++i) {
        auto trial = std::make_unique<PoolTrial>(without_a_block(exact, i));
        result_.by_class.push_back({exact[i].block_size, exact[i].block_count, 0, !trial->is_ready()});
        less_.push_back(trial->is_ready() ? std::move(trial) : nullptr);
    }
}

ExactnessTrial::~ExactnessTrial() = default;

// The classes of a pool do not help each other out, so that with one block less of a class only its own requests
// matter.
void ExactnessTrial::take(std::uint32_t slot, std::uint64_t size, std::uint64_t alignment) {
    const std::optional<std::size_t> index = meter_.class_of(size, alignment);
    if (!index) return;
    ++result_.allocations;
    if (!whole_->take(slot, size, alignment)) ++result_.refused;
    std::unique_ptr<PoolTrial> &less = less_[*index];
    if (less == nullptr || less->take(slot, size, alignment)) return;
    result_.by_class[*index].refused_at = result_.allocations;
    less.reset();
}

void ExactnessTrial::give(std::uint32_t slot, std::uint64_t size, std::uint64_t alignment) {
    const std::optional<std::size_t> index = meter_.class_of(size, alignment);
    if (!index) return;
    whole_->give(slot);
    if (less_[*index] != nullptr) less_[*index]->give(slot);
}

} // namespace flat::plan
