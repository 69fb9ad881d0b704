// Fuzz target: options made of arbitrary bytes. Footprint, init and shares must return the status that the contract
// requires, computed here again in wider arithmetic, and must never access memory that they were not given.
#include "fuzz/target.hpp"

#include <flatline/pool.h>

#include <algorithm>
#include <vector>

namespace {

__extension__ using wide = unsigned __int128;

wide rounded(std::size_t size) { return (static_cast<wide>(size) + 15) / 16 * 16; }

bool valid(const std::vector<flat_class> &classes, std::size_t count) {
    if (count == 0 || count > 64) return false;
    for (std::size_t i = 0; i < count; i++) {
        const flat_class &c = classes[i];
        if (c.block_size == 0 || rounded(c.block_size) > (wide{1} << 30)) return false;
        if (c.block_count == 0 || c.block_count > (std::size_t{1} << 24)) return false;
        if (i > 0 && rounded(c.block_size) <= rounded(classes[i - 1].block_size)) return false;
    }
    return true;
}

bool power_of_two(std::size_t number) { return number != 0 && (number & (number - 1)) == 0; }

void check_footprint(const std::vector<flat_class> &classes, const flat_footprint &need) {
    wide blocks = 0, words = 0;
    for (const flat_class &c : classes) {
        blocks += rounded(c.block_size) * c.block_count;
        words += wide{4} * c.block_count;
    }
    DEMAND(need.block_bytes >= blocks);
    DEMAND(need.metadata_bytes > words);
    DEMAND(power_of_two(need.block_alignment) && need.block_alignment <= 4096);
    DEMAND(power_of_two(need.metadata_alignment) && need.metadata_alignment <= 4096);
}

alignas(4096) unsigned char metadata[1 << 16];
alignas(4096) unsigned char blocks[1 << 16];

// Calls init with exactly the footprint, and with a byte less of each memory.
void check_init(const flat_pool_options &options, const flat_footprint &need) {
    if (need.metadata_bytes > sizeof metadata || need.block_bytes > sizeof blocks) return;
    flat_pool *pool;
    const flat_memory m{metadata, need.metadata_bytes}, b{blocks, need.block_bytes};
    DEMAND(flat_pool_init(&pool, &options, {m.start, m.size - 1}, b) == FLAT_OUT_OF_MEMORY && pool == nullptr);
    DEMAND(flat_pool_init(&pool, &options, m, {b.start, b.size - 1}) == FLAT_OUT_OF_MEMORY && pool == nullptr);
    std::fill(metadata + need.metadata_bytes, metadata + sizeof metadata, static_cast<unsigned char>(0x5a));
    DEMAND(flat_pool_init(&pool, &options, m, b) == FLAT_OK);
    DEMAND(flat_pool_check(pool) == FLAT_OK);
    for (std::size_t i = 0; i < options.class_count; i++) {
        for (std::size_t left = options.classes[i].block_count; left > 0; left--) {
            DEMAND(flat_pool_alloc(pool, options.classes[i].block_size) != nullptr);
        }
        DEMAND(flat_pool_alloc(pool, options.classes[i].block_size) == nullptr);
    }
    DEMAND(flat_pool_check(pool) == FLAT_OK);
    DEMAND(std::all_of(metadata + need.metadata_bytes, metadata + sizeof metadata,
                       [](unsigned char c) { return c == 0x5a; }));
    flat_pool_destroy(pool);
}

// Returns a size or count near an edge case, or an arbitrary one.
std::size_t number(fuzz::input &input) {
    switch (input.take<std::uint8_t>() % 6) {
    case 0: return input.take<std::uint8_t>();
    case 1: return input.take<std::uint16_t>();
    case 2: return input.take<std::uint32_t>();
    case 3: return (std::size_t{1} << (input.take<std::uint8_t>() % 64)) + input.take<std::uint8_t>() - 128;
    case 4: return SIZE_MAX - input.take<std::uint8_t>();
    default: return input.take<std::uint64_t>();
    }
}

void try_classes(fuzz::input &input) {
    std::vector<flat_class> classes;
    const bool small_steps = input.take<std::uint8_t>() & 1;
    while (!input.ended() && classes.size() < 70) {
        const std::size_t before = classes.empty() ? 0 : classes.back().block_size;
        if (small_steps) {
            const std::size_t size = before + input.take<std::uint16_t>() % 2048;
            classes.push_back({size, std::size_t{input.take<std::uint8_t>()}});
        } else {
            const std::size_t size = number(input);
            classes.push_back({size, number(input)});
        }
    }
    flat_pool_options options{};
    options.classes = classes.data();
    options.class_count = classes.size();
    flat_footprint need{1, 2, 3, 4};
    const flat_status status = flat_pool_footprint(&options, &need);
    DEMAND(status == (valid(classes, classes.size()) ? FLAT_OK : FLAT_INVALID_ARGUMENT));
    if (status == FLAT_OK) {
        check_footprint(classes, need);
        check_init(options, need);
    } else {
        DEMAND(need.metadata_bytes == 1 && need.metadata_alignment == 2 && need.block_bytes == 3);
        flat_pool *pool;
        DEMAND(flat_pool_init(&pool, &options, {metadata, sizeof metadata}, {blocks, sizeof blocks}) ==
               FLAT_INVALID_ARGUMENT);
    }
}

void try_shares(fuzz::input &input) {
    const std::size_t bytes = number(input);
    std::vector<flat_share> shares;
    const bool plausible = input.take<std::uint8_t>() & 1;
    unsigned left = 100;
    while (!input.ended() && shares.size() < 70) {
        const std::size_t before = shares.empty() ? 0 : shares.back().block_size;
        const std::size_t size = plausible ? before + input.take<std::uint16_t>() : number(input);
        unsigned percent = plausible ? input.take<std::uint8_t>() % 32 : input.take<std::uint32_t>();
        if (plausible && (percent > left || input.ended())) percent = left;
        left -= percent;
        shares.push_back({size, percent});
    }
    std::vector<flat_class> classes(shares.size() + 1, {7, 9});
    const flat_status status = flat_classes_from_shares(bytes, shares.data(), shares.size(), classes.data());
    wide total = 0;
    bool right = !shares.empty() && shares.size() <= 64;
    for (std::size_t i = 0; i < shares.size(); i++) {
        total += shares[i].percent;
        right = right && shares[i].percent != 0 && shares[i].block_size != 0;
        right = right && shares[i].block_size <= FLAT_POOL_MAX_BLOCK_SIZE;
        right = right && (i == 0 || rounded(shares[i].block_size) > rounded(shares[i - 1].block_size));
    }
    right = right && total == 100;
    DEMAND(right || status == FLAT_INVALID_ARGUMENT);
    DEMAND(classes.back().block_size == 7 && classes.back().block_count == 9);
    if (status != FLAT_OK) {
        for (const flat_class &c : classes) DEMAND(c.block_size == 7 && c.block_count == 9);
        return;
    }
    classes.pop_back();
    DEMAND(valid(classes, classes.size()));
    flat_pool_options options{};
    options.classes = classes.data();
    options.class_count = classes.size();
    flat_footprint need;
    DEMAND(flat_pool_footprint(&options, &need) == FLAT_OK);
    DEMAND((static_cast<wide>(need.block_bytes) + need.metadata_alignment - 1) / need.metadata_alignment *
                   need.metadata_alignment +
               need.metadata_bytes <=
           bytes);
    for (std::size_t i = 0; i < classes.size(); i++) {
        DEMAND(rounded(classes[i].block_size) * classes[i].block_count * 100 <= wide{bytes} * shares[i].percent);
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    fuzz::input input(data, size);
    if (input.take<std::uint8_t>() & 1) {
        try_shares(input);
    } else {
        try_classes(input);
    }
    return 0;
}
