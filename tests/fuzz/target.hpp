// Shared by the targets: a check that is active in every build, and a reader of arbitrary bytes.
#ifndef FLATLINE_TESTS_FUZZ_TARGET_HPP
#define FLATLINE_TESTS_FUZZ_TARGET_HPP

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size);

#define DEMAND(condition)                                                                                              \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            std::fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition);                        \
            std::abort();                                                                                              \
        }                                                                                                              \
    } while (0)

namespace fuzz {

// Reads numbers from the input in order, and zeros after its end.
class input {
  public:
    input(const std::uint8_t *data, std::size_t size) : data_(data), left_(size) {}

    bool ended() const { return left_ == 0; }

    template <typename Number> Number take() {
        Number number{};
        const std::size_t bytes = left_ < sizeof number ? left_ : sizeof number;
        if (bytes == 0) return number;
        std::memcpy(&number, data_, bytes);
        data_ += bytes;
        left_ -= bytes;
        return number;
    }

  private:
    const std::uint8_t *data_;
    std::size_t left_;
};

} // namespace fuzz

#endif
