// malloc_stress [ROUNDS [SEED]]: threads allocate, resize and free each other's blocks, and end. They write and read
// each byte plainly, while another thread trims their heaps and reads the statistics. ThreadSanitizer then sees whether
// a block passes from one thread to the next in order, and whether other threads leave a thread's own data alone. The
// program is linked with the malloc's sources under other names (see CMakeLists.txt), since a sanitizer has its own
// malloc. Exit status 0: every block was as its thread had left it; 2: there was no memory. STRESS_PAGE_BYTES sets the
// page size that the system seems to have.
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <malloc.h>
#include <random>
#include <thread>
#include <vector>

#include <sys/auxv.h>

extern "C" {
void *flatline_renamed_malloc(std::size_t size);
void *flatline_renamed_calloc(std::size_t count, std::size_t size);
void *flatline_renamed_realloc(void *block, std::size_t size);
void flatline_renamed_free(void *block);
int flatline_renamed_malloc_trim(std::size_t pad);
struct mallinfo2 flatline_renamed_mallinfo2(void);

// This program's malloc is the sanitizer's.
void flat_redirect_c_library() {}

unsigned long flatline_renamed_getauxval(unsigned long type) {
    const char *bytes = type == AT_PAGESZ ? std::getenv("STRESS_PAGE_BYTES") : nullptr;
    return bytes == nullptr ? getauxval(type) : std::strtoul(bytes, nullptr, 10);
}
}

namespace {

struct block {
    std::uint32_t size;
    unsigned char content;
    // bytes of that content follow, up to `size`
};

unsigned char *bytes_of(block *of) { return reinterpret_cast<unsigned char *>(of); }

std::array<std::atomic<block *>, 64> places;
std::atomic<unsigned> spoilt;

class worker {
  public:
    explicit worker(std::uint64_t seed) : random_(seed) {}

    // Frees the block at a place, whoever put it there, and puts a new one there.
    void step() {
        block *found = places[random_() % places.size()].exchange(random_() % 3 == 0 ? nullptr : make());
        if (found == nullptr) return;
        look_at(found, found->size);
        if (random_() % 4 == 0) found = resize(found);
        flatline_renamed_free(found);
    }

  private:
    std::uint32_t any_size() {
        const std::uint32_t kinds[]{64, 64, 64, 300, 5000, 40000, 1500000};
        return static_cast<std::uint32_t>(sizeof(block) + random_() % kinds[random_() % (random_() % 8 == 0 ? 7 : 5)]);
    }

    block *make() {
        const std::uint32_t size = any_size();
        auto *made =
            static_cast<block *>(random_() % 4 == 0 ? flatline_renamed_calloc(1, size) : flatline_renamed_malloc(size));
        if (made == nullptr) std::_Exit(2);
        return write(made, size);
    }

    block *write(block *to, std::uint32_t size) {
        to->size = size;
        to->content = static_cast<unsigned char>(random_());
        for (std::uint32_t at = sizeof(block); at < size; at += stride(size)) bytes_of(to)[at] = to->content;
        return to;
    }

    static std::uint32_t stride(std::uint32_t size) { return size < 1000 ? 1 : 61; }

    static void look_at(block *at, std::uint32_t end) {
        for (std::uint32_t i = sizeof(block); i < end; i += stride(at->size)) {
            if (bytes_of(at)[i] != at->content) spoilt++;
        }
    }

    block *resize(block *from) {
        const std::uint32_t size = any_size();
        auto *now = static_cast<block *>(flatline_renamed_realloc(from, size));
        if (now == nullptr) std::_Exit(2);
        look_at(now, size < now->size ? size : now->size);
        return write(now, size);
    }

    std::minstd_rand random_;
};

} // namespace

int main(int count, char **arguments) {
    const unsigned rounds = count > 1 ? static_cast<unsigned>(std::strtoul(arguments[1], nullptr, 10)) : 20;
    const std::uint64_t seed = count > 2 ? std::strtoull(arguments[2], nullptr, 10) : 1;
    for (unsigned round = 0; round < rounds; round++) {
        std::vector<std::thread> threads;
        std::atomic<unsigned> going_on = 4;
        for (unsigned i = 0; i < 4; i++) {
            threads.emplace_back([=, &going_on] {
                worker here(seed + 97 * round + i);
                for (int step = 0; step < 2000; step++) here.step();
                going_on--;
            });
        }
        while (going_on != 0) {
            (void)flatline_renamed_malloc_trim(0);
            if (flatline_renamed_mallinfo2().uordblks == 0) std::this_thread::yield();
        }
        for (std::thread &thread : threads) thread.join();
    }
    for (auto &place : places) flatline_renamed_free(place.exchange(nullptr));
    std::printf("%u rounds of 4 threads, %u bytes spoilt\n", rounds, spoilt.load());
    return spoilt == 0 ? 0 : 1;
}
