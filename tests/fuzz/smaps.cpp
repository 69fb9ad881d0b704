// Fuzz target: any text in place of /proc/self/smaps. The reader must end, and must use only whole lines.
#include "fuzz/target.hpp"

#include "../../src/os/smaps.h"

#include <sys/mman.h>
#include <unistd.h>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    const int file = memfd_create("smaps", MFD_CLOEXEC);
    DEMAND(file >= 0);
    DEMAND(write(file, data, size) == static_cast<ssize_t>(size));
    DEMAND(lseek(file, 0, SEEK_SET) == 0);
    smaps_reader reader;
    flat_smaps_begin(&reader, file);
    std::size_t mappings = 0;
    for (smaps_mapping mapping{}; flat_smaps_next(&reader, &mapping); mappings++) {
        DEMAND(mapping.page_size % 1024 == 0);
        DEMAND(mapping.huge % 1024 == 0);
    }
    DEMAND(mappings <= size / (sizeof "VmFlags:" - 1));
    DEMAND(close(file) == 0);
    return 0;
}
