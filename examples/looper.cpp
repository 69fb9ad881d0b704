/* A looper: a musician presses a pedal, and what is played from then on is kept as a track, one after the other. The
 * callback has a deadline, and a word says where it keeps the samples. How does the slowest callback compare?
 *
 *     looper growing    in a vector, which grows while it is recorded to
 *     looper early      in memory that was allocated at the start, and that nothing has written to since
 *     looper            in the block of a pool, whose memory is resident before the first callback
 */
#include <flatline/pool.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <vector>

/* Which part of its life the program is in. Only the tests read it: they require that the heap is not called while it
 * is STEADY. */
enum Phase { STARTING, STEADY, ENDING };
volatile Phase phase;

namespace {

constexpr std::size_t rate = 48'000, frames = 128; // samples in a second, and in a callback
constexpr std::size_t track_callbacks = 7'500;     // of one track: 20 s
constexpr std::size_t track_samples = track_callbacks * frames;
constexpr std::size_t tracks = 4;
using Period = std::array<float, frames>;

class Growing {
  public:
    void begin(std::size_t track) { current_ = &kept_[track]; }
    void record(const Period &played) {
        for (const float sample : played) current_->push_back(sample);
    }

  private:
    std::array<std::vector<float>, tracks> kept_;
    std::vector<float> *current_ = nullptr;
};

// A track in memory that is large enough for it.
class Track {
  public:
    void begin(float *samples) {
        std::fill_n(samples, track_samples, 0.0F);
        next_ = samples;
    }
    void record(const Period &played) { next_ = std::copy(played.begin(), played.end(), next_); }

  private:
    float *next_ = nullptr;
};

class Early {
  public:
    Early() {
        for (auto &samples : kept_) samples.reset(new float[track_samples]);
    }
    void begin(std::size_t track) { current_.begin(kept_[track].get()); }
    void record(const Period &played) { current_.record(played); }

  private:
    std::array<std::unique_ptr<float[]>, tracks> kept_;
    Track current_;
};

class Pooled {
  public:
    Pooled() {
        const flat_class sizes[] = {{track_samples * sizeof(float), tracks}};
        flat_pool_options options{};
        options.classes = sizes;
        options.class_count = 1;
        if (flat_pool_create(&pool_, &options, nullptr) != FLAT_OK) std::abort();
    }
    ~Pooled() { flat_pool_destroy(pool_); }
    Pooled(const Pooled &) = delete;
    Pooled &operator=(const Pooled &) = delete;

    void begin(std::size_t) {
        current_.begin(static_cast<float *>(flat_pool_alloc(pool_, track_samples * sizeof(float))));
    }
    void record(const Period &played) { current_.record(played); }

  private:
    flat_pool *pool_ = nullptr;
    Track current_;
};

template <class Tracks> void callback(Tracks &tracks_kept, std::size_t number) {
    Period played;
    played.fill(static_cast<float>(number % 100) / 100);
    if (number % track_callbacks == 0) tracks_kept.begin(number / track_callbacks);
    tracks_kept.record(played);
}

template <class Tracks> double worst_callback(Tracks &&tracks_kept) {
    using clock = std::chrono::steady_clock;
    clock::duration worst{};
    phase = STEADY;
    for (std::size_t number = 0; number < tracks * track_callbacks; number++) {
        const auto begun = clock::now();
        callback(tracks_kept, number);
        worst = std::max(worst, clock::now() - begun);
    }
    phase = ENDING;
    return std::chrono::duration<double, std::micro>(worst).count();
}

} // namespace

int main(int argc, char **argv) {
    const std::string_view where = argc > 1 ? argv[1] : "";
    const double worst = where == "growing" ? worst_callback(Growing())
                         : where == "early" ? worst_callback(Early())
                                            : worst_callback(Pooled());
    std::printf("the slowest callback took %.0f of %zu us\n", worst, frames * 1'000'000 / rate);
    return 0;
}
