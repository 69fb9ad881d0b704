/* A plug-in whose processing call deletes the model that a newer one replaces: 16 megabytes, which free() unmaps
 * there and then, as the host has set the size from which glibc gives a block a mapping of its own.
 *
 * After sdatkinson/NeuralAmpModelerPlugin pull request 627. */
#include "scenario.h"

#include <atomic>
#include <malloc.h>

namespace {

constexpr int models = 40;
constexpr std::size_t weights = 4 * MIB; // of four bytes
stopwatch deletions;

class model {
  public:
    model() : weights_(new float[weights]) { scenario_fill(weights_, weights * sizeof(float)); }
    ~model() {
        delete[] weights_; // stalls: operator delete[], system call munmap
    }
    model(const model &) = delete;
    model &operator=(const model &) = delete;

    float gain() const { return weights_[weights / 2] + 1; }

  private:
    float *weights_;
};

std::atomic<model *> staged{nullptr};
model *current = nullptr;

[[gnu::noinline]] float process(float sample) {
    model *next = staged.exchange(nullptr);
    if (next != nullptr) {
        stopwatch_start(&deletions);
        delete current;
        stopwatch_stop(&deletions);
        current = next;
    }
    return sample * current->gain();
}

} // namespace

int main() {
    scenario_begin();
    if (mallopt(M_MMAP_THRESHOLD, 128 << 10) == 0) scenario_stop("mallopt refused");
    current = new model;
    float sum = 0;
    for (int i = 0; i < models; i++) {
        staged.store(new model);
        scenario_next_period();
        for (int block = 0; block < 8; block++) sum += process(0.5F);
    }
    stopwatch_say(&deletions, "deletions of a model");
    return sum > 0 ? 0 : 1;
}
