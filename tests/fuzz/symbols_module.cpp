// Fuzz target: a file of arbitrary bytes in place of a program, and addresses in it. Each has a frame, and each frame a
// name and the file that was asked about.
#include "fuzz/target.hpp"

#include "symbols/site.hpp"

#include <string>

#include <sys/mman.h>
#include <unistd.h>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    using namespace flat::symbols;
    const int file = memfd_create("module", MFD_CLOEXEC);
    DEMAND(file >= 0);
    DEMAND(write(file, data, size) == static_cast<ssize_t>(size));
    const std::string path = "/proc/self/fd/" + std::to_string(file);
    SourceFrames frames("/nowhere"); // what is on this machine is no part of the input
    for (std::uint64_t offset = 0; offset < 0x2000; offset += 0x40) {
        const std::vector<SourceFrame> &found = frames.at(path, offset, offset % 0x80 == 0);
        DEMAND(site_of(found) < found.size());
        for (const SourceFrame &frame : found) DEMAND(!frame.function.empty() && frame.module == path);
    }
    DEMAND(close(file) == 0);
    return 0;
}
