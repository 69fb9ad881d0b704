// boost::lockfree::spsc_queue, which cannot sleep. The consumer uses an element where it lies in the queue. Completions
// come back through a second one.
#include "../backend.h"
#include "by_value.hpp"

#include <boost/lockfree/spsc_queue.hpp>
#include <boost/version.hpp>

namespace flat::bench {
namespace {

template <std::size_t size> class Tasks final : public ByValue {
  public:
    explicit Tasks(const queue_plan &plan)
        : tasks_(plan.capacity), completions_(plan.capacity), has_completions_(plan.completions) {}

    bool submit(queue_task *run, const void *payload) override { return tasks_.push(Element<size>(run, payload)); }

    void serve() override {
        while (!consumer_ends()) {
            if (tasks_.consume_one([](Element<size> &next) { next.run(nullptr, next.payload, size); }) == 0) continue;
            if (has_completions_ && !completions_.push(0)) queue_failed("a completion did not fit");
        }
    }

    void await() override {
        for (int completion = 0; !completions_.pop(completion);) {
        }
    }

    void stop() override {}

  private:
    boost::lockfree::spsc_queue<Element<size>> tasks_;
    boost::lockfree::spsc_queue<int> completions_;
    bool has_completions_;
};

} // namespace

std::unique_ptr<ByValue> make_queue(const queue_plan &plan) {
    return plan.sleeping ? nullptr : make_by_size<Tasks>(plan);
}

} // namespace flat::bench

bench_function *bench_code(void) { return reinterpret_cast<bench_function *>(queue_end); }
const char *bench_version(void) { return BOOST_LIB_VERSION; }
