// Fuzz target: any bytes in the place of what an engine shows. They are refused with one line, or every line of the
// screen fits. The input is put over a page that is as it should be, so that more than its head is tried.
#include "fuzz/target.hpp"

#include "cli/engine_page.hpp"
#include "cli/engine_shown.hpp"
#include "cli/top_text.hpp"

#include <cstring>
#include <stdexcept>

namespace {

void look_at(const std::vector<std::byte> &bytes) {
    using namespace flat::cli;
    try {
        const EngineLook once{engine_page_of(bytes, Moment::of_page), std::nullopt, 0};
        const EngineLook twice{engine_page_of(bytes, Moment::now), once.now, 1};
        for (const EngineLook *look : {&once, &twice})
            for (const std::size_t width : {std::size_t{80}, std::size_t{100}})
                for (const StyledLine &line :
                     top_lines(*look, [](std::uint64_t) { return std::string("task"); }, width))
                    DEMAND(columns_of(line) <= width);
    } catch (const std::runtime_error &refusal) {
        DEMAND(*refusal.what() != 0 && std::strchr(refusal.what(), '\n') == nullptr);
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    const auto *given = reinterpret_cast<const std::byte *>(data);
    look_at({given, given + size});
    // Pieces of four bytes say where, and then eight say what.
    fuzz::input input(data, size);
    std::vector<std::byte> page = test::engine_shown(1, 1, 2).bytes();
    while (!input.ended()) {
        const auto at = input.take<std::uint32_t>() % (page.size() - sizeof(std::uint64_t));
        const auto value = input.take<std::uint64_t>();
        std::memcpy(&page[at / 8 * 8], &value, sizeof value);
    }
    look_at(page);
    return 0;
}
