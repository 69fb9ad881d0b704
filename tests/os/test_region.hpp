// A region for the length of a scope, with what was said when it was refused.
#ifndef FLATLINE_TESTS_OS_TEST_REGION_HPP
#define FLATLINE_TESTS_OS_TEST_REGION_HPP

#include <flatline/region.h>

#include <cstdint>
#include <string>

namespace test {

inline std::uintptr_t address_of(const void *pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

// All defaults but the one that `change` sets.
template <typename Change> flat_region_options options_with(Change change) {
    flat_region_options options{};
    change(options);
    return options;
}

class test_region {
  public:
    // Made by `make(flat_region *, const flat_region_options *)`.
    template <typename Make> test_region(flat_region_options options, Make make) {
        text_[0] = '?';
        options.message = text_;
        options.message_size = sizeof text_;
        status_ = make(&region_, &options);
    }
    test_region(std::size_t size, std::size_t alignment, flat_region_options options = {})
        : test_region(options, [&](flat_region *region, const flat_region_options *with) {
              return flat_region_create(region, size, alignment, with);
          }) {}
    test_region(const test_region &) = delete;
    test_region &operator=(const test_region &) = delete;
    ~test_region() { flat_region_destroy(&region_); }

    flat_status status() const { return status_; }
    std::string message() const { return text_; }
    bool says(const std::string &words) const { return message().find(words) != std::string::npos; }
    char *start() const { return static_cast<char *>(region_.start); }
    char *mapping() const { return static_cast<char *>(region_.mapping); }
    std::size_t size() const { return region_.size; }
    const flat_region &region() const { return region_; }

    // What the kernel tells; all zero where it does not.
    flat_region_facts facts() const {
        flat_region_facts facts{};
        return flat_region_report(&region_, &facts) == FLAT_OK ? facts : flat_region_facts{};
    }

  private:
    flat_region region_{};
    flat_status status_;
    char text_[FLAT_REGION_MESSAGE_SIZE]{};
};

} // namespace test

#endif
