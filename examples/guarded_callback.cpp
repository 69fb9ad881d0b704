// An audio callback with an echo, and what `flatline guard` says of it. The first version takes memory from malloc, and
// touches some that was never touched before. The second one has all its memory before the first call.
//
//   guarded_callback [first]
#include <flatline/arena.h>
#include <flatline/guard.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

/* Which part of its life the program is in. Only the tests read it: they require that the heap is not called while it
 * is STEADY. */
enum Phase { STARTING, STEADY, ENDING };
volatile Phase phase;

namespace {

constexpr std::size_t frames = 256, delay = 48000, calls = 400;

struct Free {
    void operator()(float *block) const { std::free(block); }
};

class FirstEcho {
  public:
    void process(std::vector<float> &samples) {
        const flat::guard section;
        std::vector<float> dry(samples.begin(), samples.end());
        for (std::size_t i = 0; i < samples.size(); i++) {
            samples[i] = dry[i] + 0.5f * past_[at_];
            past_[at_] = dry[i];
            at_ = (at_ + 1) % delay;
        }
    }

  private:
    std::unique_ptr<float[], Free> past_{static_cast<float *>(std::calloc(delay, sizeof(float)))};
    std::size_t at_ = 0;
};

class Echo {
  public:
    Echo() {
        if (flat_arena_create(&memory_, (delay + frames) * sizeof(float), nullptr) != FLAT_OK) std::abort();
        past_ = take(delay);
        dry_ = take(frames);
    }
    ~Echo() { flat_arena_destroy(&memory_); }
    Echo(const Echo &) = delete;
    Echo &operator=(const Echo &) = delete;

    void process(std::vector<float> &samples) {
        const flat::guard section;
        std::memcpy(dry_, samples.data(), samples.size() * sizeof(float));
        for (std::size_t i = 0; i < samples.size(); i++) {
            samples[i] = dry_[i] + 0.5f * past_[at_];
            past_[at_] = dry_[i];
            at_ = (at_ + 1) % delay;
        }
    }

  private:
    float *take(std::size_t count) {
        auto *block = static_cast<float *>(flat_arena_alloc(&memory_, count * sizeof(float)));
        if (block == nullptr) std::abort();
        std::memset(block, 0, count * sizeof(float));
        return block;
    }

    flat_arena memory_;
    float *past_, *dry_;
    std::size_t at_ = 0;
};

template <typename Kind> float play() {
    Kind echo;
    std::vector<float> samples(frames);
    float last = 0;
    phase = STEADY;
    for (std::size_t i = 0; i < calls; i++) {
        samples.assign(frames, 1.0f);
        echo.process(samples);
        last = samples.back();
    }
    phase = ENDING;
    return last;
}

} // namespace

int main(int count, char **) {
    const float last = count > 1 ? play<FirstEcho>() : play<Echo>();
    std::printf("the last sample is %.1f\n", static_cast<double>(last));
    return last == 1.5f ? 0 : 1;
}
