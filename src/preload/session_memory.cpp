#include "session_memory.hpp"

#include <cerrno>
#include <system_error>

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

namespace flat::preload {
namespace {

[[noreturn]] void fail(int error, std::size_t size) {
    const std::string memory = fmt::format("{} MiB of memory to share with the program", size >> 20);
    throw std::system_error(error, std::generic_category(),
                            error == EFBIG    ? "no file can have the " + memory + ": raise ulimit -f"
                            : error == EMFILE ? "no file can be opened for the " + memory + ": raise ulimit -n"
                                              : "there are no " + memory + ": end other programs or raise ulimit -v");
}

} // namespace

SharedFile::SharedFile(const char *name, std::size_t size)
    : file_(memfd_create(name, MFD_CLOEXEC)), size_(size), start_(MAP_FAILED) {
    if (file_ < 0) fail(errno, size);
    if (ftruncate(file_, static_cast<off_t>(size)) == 0)
        start_ = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
    if (start_ != MAP_FAILED) return;
    const int error = errno;
    (void)close(file_);
    fail(error, size);
}

SharedFile::~SharedFile() {
    (void)munmap(start_, size_);
    (void)close(file_);
}

std::string SharedFile::path() const { return fmt::format("/proc/{}/fd/{}", getpid(), file_); }

} // namespace flat::preload
