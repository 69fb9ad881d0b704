// Stops a thread after every single instruction of a free that sends blocks to their owner. At each stop the owner
// takes what has arrived and is never held up; at the end it has all of them. Both are threads of a child of this
// process, which traces the sender.
#include "invariants.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

extern "C" {
#include "heaps.h"
#include "returned.h"
#include "rings.h"
#include "spans.h"
}

namespace {

constexpr std::size_t size = 200;
const std::size_t number = size / GRANULE + 1;

// How the test and its child communicate, in memory that they share.
struct talk {
    std::atomic<pid_t> sender; // the thread's id, once it is ready for the call
    std::atomic<bool> may_begin, is_inside, is_done, is_over;
    std::atomic<std::size_t> sent;
    std::atomic<unsigned> asked, answered;
    std::atomic<std::size_t> came_home; // the answer: blocks handed over that their owner has again
};

void wait_until(const std::atomic<bool> &told) {
    while (!told) std::this_thread::yield();
}

std::size_t at_hand() {
    const block_stacks &stacks = flat_my_heap->stacks;
    return flat_size_classes[number].kept - static_cast<std::size_t>(stacks.end[number] - stacks.top[number]);
}

// Whether the next malloc of the class would begin a new span.
bool has_none() {
    for (const home_ring &ring : flat_my_heap->rings) {
        if (ring.written != ring.read) return false;
    }
    return at_hand() == 0 && flat_my_heap->spans[number].first == NO_UNIT && !flat_has_returned(flat_my_heap);
}

// Fills the list of heaps that the thread sends to by rings with its own heap, so that it gets no ring to the owner.
void have_no_ring() {
    std::fill(std::begin(flat_my_heap->sends_to), std::end(flat_my_heap->sends_to), number_of_heap(flat_my_heap));
    flat_my_heap->sends_to_count = SENDS_TO_MOST;
}

// Frees blocks until the cache is full, and then one more, which has no room.
void send(talk &with, const std::vector<void *> &blocks, bool by_ring) {
    std::vector<void *> own(2 * SHARING_CALLS);
    for (void *&block : own) block = malloc(2 * size);
    for (void *block : own) free(block);
    if (!by_ring) have_no_ring();
    std::size_t freed = 0;
    do {
        free(blocks[freed++]);
    } while (at_hand() != flat_size_classes[number].kept);
    with.sender = gettid();
    wait_until(with.may_begin);
    with.is_inside = true;
    free(blocks[freed++]);
    with.is_inside = false;
    with.sent = freed - at_hand();
    with.is_done = true;
    wait_until(with.is_over);
    while (freed != blocks.size()) free(blocks[freed++]);
}

// The owner of the blocks. It allocates all there is and frees the handed-over blocks again into its cache. It keeps
// all others, so that nothing else is free.
class receiver {
  public:
    explicit receiver(std::vector<void *> handed_over) : handed_over_(std::move(handed_over)) {
        std::sort(handed_over_.begin(), handed_over_.end());
        found_.reserve(handed_over_.size());
        kept_.reserve(100000);
    }

    void answer(talk &with) {
        while (!has_none()) {
            void *block = malloc(size);
            std::memset(block, 0, size);
            const bool is_home = std::binary_search(handed_over_.begin(), handed_over_.end(), block);
            (is_home ? found_ : kept_).push_back(block);
        }
        with.came_home = found_.size();
        for (void *block : found_) free(block);
        found_.clear();
        with.answered++;
    }

    void free_what_was_kept() {
        for (void *block : kept_) free(block);
    }

  private:
    std::vector<void *> handed_over_, found_, kept_;
};

[[noreturn]] void be_the_child(talk &with, bool by_ring) {
    std::vector<void *> blocks(flat_size_classes[number].kept + std::size_t{1});
    for (void *&block : blocks) block = malloc(size);
    receiver owner(blocks);
    std::thread sender([&] { send(with, blocks, by_ring); });
    while (!with.is_over) {
        if (with.asked == with.answered)
            std::this_thread::yield();
        else
            owner.answer(with);
    }
    sender.join();
    owner.free_what_was_kept();
    const std::string wrong = test::broken_invariant();
    if (!wrong.empty()) std::fprintf(stderr, "%s\n", wrong.c_str());
    _exit(wrong.empty() ? 0 : 1);
}

class home_stopping : public testing::TestWithParam<bool> {
  protected:
    void SetUp() override {
        free(malloc(size)); // sets up the size classes
        void *shared = mmap(nullptr, sizeof(talk), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        ASSERT_NE(shared, MAP_FAILED);
        with_ = new (shared) talk{};
        child_ = fork();
        ASSERT_GE(child_, 0);
        if (child_ == 0) be_the_child(*with_, GetParam());
        ASSERT_TRUE(comes([&] { return with_->sender != 0; }));
        if (ptrace(PTRACE_SEIZE, with_->sender.load(), nullptr, PTRACE_O_EXITKILL) != 0) {
            GTEST_SKIP() << "a thread of a child cannot be traced here: " << std::strerror(errno);
        }
        ASSERT_EQ(ptrace(PTRACE_INTERRUPT, with_->sender.load(), nullptr, nullptr), 0);
        ASSERT_TRUE(is_stopped());
    }

    void TearDown() override {
        if (child_ > 0) {
            (void)kill(child_, SIGKILL);
            if (with_ != nullptr && with_->sender != 0) (void)waitpid(with_->sender, nullptr, __WALL);
            (void)waitpid(child_, nullptr, 0);
        }
        if (with_ != nullptr) (void)munmap(with_, sizeof *with_);
    }

    bool is_stopped() {
        int status = 0;
        return waitpid(with_->sender, &status, __WALL) == with_->sender && WIFSTOPPED(status) &&
               WSTOPSIG(status) == SIGTRAP;
    }

    bool step() { return ptrace(PTRACE_SINGLESTEP, with_->sender.load(), nullptr, nullptr) == 0 && is_stopped(); }

    // False: the condition did not hold within ten seconds.
    template <class Condition> static bool comes(Condition condition) {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
        while (!condition()) {
            if (std::chrono::steady_clock::now() > end) return false;
            std::this_thread::yield();
        }
        return true;
    }

    bool owner_goes_on() {
        with_->asked++;
        return comes([&] { return with_->asked == with_->answered; });
    }

    int end_of_child() {
        int status = 0;
        const bool ended = waitpid(child_, &status, 0) == child_ && WIFEXITED(status);
        child_ = 0;
        return ended ? WEXITSTATUS(status) : -1;
    }

    talk *with_ = nullptr;

  private:
    pid_t child_ = 0;
};

TEST_P(home_stopping, a_thread_stopped_anywhere_as_it_sends_blocks_home_holds_up_nobody) {
    with_->may_begin = true;
    std::size_t came_home = 0;
    unsigned stops = 0;
    while (!with_->is_done) {
        ASSERT_TRUE(step());
        if (!with_->is_inside) continue;
        stops++;
        ASSERT_TRUE(owner_goes_on()) << "it waits for a thread that stands after " << stops << " instructions";
        ASSERT_GE(with_->came_home, came_home) << "after " << stops << " instructions";
        came_home = with_->came_home;
    }
    ASSERT_TRUE(owner_goes_on());
    EXPECT_EQ(with_->came_home, with_->sent);
    EXPECT_GT(with_->sent, 0U);
    std::printf("%u instructions, %zu blocks\n", stops, with_->sent.load());
    ASSERT_EQ(ptrace(PTRACE_DETACH, with_->sender.load(), nullptr, nullptr), 0);
    with_->is_over = true;
    EXPECT_EQ(end_of_child(), 0);
}

INSTANTIATE_TEST_SUITE_P(by, home_stopping, testing::Bool(),
                         [](const auto &is) { return is.param ? std::string("rings") : std::string("marks"); });

} // namespace
