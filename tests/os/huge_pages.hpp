// The system's explicit huge pages, for tests that need some or none.
#ifndef FLATLINE_TESTS_OS_HUGE_PAGES_HPP
#define FLATLINE_TESTS_OS_HUGE_PAGES_HPP

#include <cstddef>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <string>
#include <sys/file.h>
#include <unistd.h>

namespace test {

inline constexpr std::size_t huge_page = std::size_t{2} << 20;

inline std::size_t number_in(const char *path) {
    std::ifstream file(path);
    std::size_t number = 0;
    file >> number;
    return number;
}

// Of /proc/meminfo, without its unit.
inline std::size_t meminfo(const std::string &name) {
    std::ifstream file("/proc/meminfo");
    for (std::string line; std::getline(file, line);) {
        if (line.rfind(name + ":", 0) == 0) return std::strtoull(line.c_str() + name.size() + 1, nullptr, 10);
    }
    return 0;
}

// Holds the system's huge pages against other tests of this kind, which may run at the same time, in any build.
class huge_page_lock {
  public:
    huge_page_lock() : file_(open("/tmp/flatline-test-huge-pages.lock", O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
        if (file_ >= 0) (void)flock(file_, LOCK_EX);
    }
    huge_page_lock(const huge_page_lock &) = delete;
    huge_page_lock &operator=(const huge_page_lock &) = delete;
    ~huge_page_lock() {
        if (file_ >= 0) (void)close(file_);
    }

    // Pages that a mapping can have now.
    static std::size_t free() {
        return meminfo("HugePages_Free") - meminfo("HugePages_Rsvd") +
               number_in("/proc/sys/vm/nr_overcommit_hugepages");
    }

  private:
    int file_;
};

// Sets huge pages aside as root, and puts the number back. `count()` is what the system then had free.
class reserved_huge_pages {
  public:
    explicit reserved_huge_pages(std::size_t count) : before_(number_in(path)) {
        if (meminfo("Hugepagesize") * 1024 == huge_page) write(before_ + count);
    }
    reserved_huge_pages(const reserved_huge_pages &) = delete;
    reserved_huge_pages &operator=(const reserved_huge_pages &) = delete;
    ~reserved_huge_pages() { write(before_); }

    std::size_t count() const { return huge_page_lock::free(); }

  private:
    static constexpr const char *path = "/proc/sys/vm/nr_hugepages";
    static void write(std::size_t count) {
        std::ofstream file(path);
        file << count << std::flush;
    }
    huge_page_lock lock_;
    std::size_t before_;
};

} // namespace test

#endif
