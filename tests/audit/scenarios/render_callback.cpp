/* A render callback that makes four buffers for each block and lets them go again: hidden calls of calloc and free on
 * the audio thread. The freed buffers lie at the end of the thread's heap, so that glibc returns their pages to the
 * kernel each time, and the next calloc meets a page fault for every page that it clears.
 *
 * After AOMediaCodec/oar issue 28. */
#include "scenario.h"

#include <malloc.h>
#include <pthread.h>

namespace {

constexpr int blocks = 60;
constexpr std::size_t samples = 256 * KIB; // a buffer has a mebibyte
stopwatch hidden;

class audio_buffer {
  public:
    audio_buffer() {
        stopwatch_start(&hidden);
        data_ = static_cast<float *>(std::calloc(samples, sizeof(float))); // stalls: calloc, page fault
        stopwatch_stop(&hidden);
        scenario_block(data_);
    }
    ~audio_buffer() { std::free(data_); }
    audio_buffer(const audio_buffer &) = delete;
    audio_buffer &operator=(const audio_buffer &) = delete;

    float &operator[](std::size_t at) { return data_[at]; }

  private:
    float *data_;
};

[[gnu::noinline]] float render(float input) {
    audio_buffer rotated, mixed, limited, output;
    for (std::size_t at = 0; at < 128; at++) {
        rotated[at] = input;
        mixed[at] = rotated[at] * 0.5F;
        limited[at] = mixed[at] < 1 ? mixed[at] : 1;
        output[at] = limited[at];
    }
    return output[127];
}

void *audio_thread(void *sum) {
    for (int block = 0; block < blocks; block++) {
        scenario_next_period();
        *static_cast<float *>(sum) += render(0.25F);
    }
    return nullptr;
}

} // namespace

int main() {
    scenario_begin();
    if (mallopt(M_MMAP_THRESHOLD, 32 << 20) == 0 || mallopt(M_TRIM_THRESHOLD, 1 << 20) == 0)
        scenario_stop("mallopt refused");
    float sum = 0;
    pthread_t thread;
    if (pthread_create(&thread, nullptr, audio_thread, &sum) != 0 || pthread_join(thread, nullptr) != 0)
        scenario_stop("there are no threads");
    stopwatch_say(&hidden, "hidden callocs");
    return sum > 0 ? 0 : 1;
}
