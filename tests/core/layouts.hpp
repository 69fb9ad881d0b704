// Random class tables.
#ifndef FLATLINE_TESTS_CORE_LAYOUTS_HPP
#define FLATLINE_TESTS_CORE_LAYOUTS_HPP

#include "core/random_source.hpp"

#include <flatline/pool.h>

#include <cstddef>
#include <string>
#include <vector>

namespace test {

struct layout_bounds {
    std::size_t most_classes, largest_size, most_blocks; // of one class
    std::size_t most_bytes;                              // of all blocks together
};

// Between 1 and `most_classes` classes, small numbers and small sizes as likely as large ones; sizes are not rounded.
inline std::vector<flat_class> random_layout(random_source &random, const layout_bounds &bounds) {
    const std::size_t classes = random.magnitude(bounds.most_classes);
    const std::size_t largest =
        random.one_in(2) ? bounds.largest_size : 16 * random.magnitude(bounds.largest_size / 16);
    std::vector<flat_class> layout;
    std::size_t size = 0, left = bounds.most_bytes;
    while (layout.size() < classes) {
        size += 16 * random.magnitude(random.one_in(3) ? 4 : largest / 16);
        if (size > bounds.largest_size || size > left) break;
        std::size_t count = random.magnitude(bounds.most_blocks);
        if (count > left / size) count = left / size;
        left -= size * count;
        layout.push_back({size - random.below(16), count});
    }
    if (layout.empty()) layout.push_back({16, 1 + random.below(bounds.most_blocks)});
    return layout;
}

inline std::string describe(const std::vector<flat_class> &layout) {
    std::string text;
    for (const flat_class &c : layout) {
        text += (text.empty() ? "" : ", ") + std::to_string(c.block_size) + " B x " + std::to_string(c.block_count);
    }
    return text;
}

} // namespace test

#endif
