#include "by_value.hpp"

static std::unique_ptr<flat::bench::ByValue> queue;

static void serve() { queue->serve(); }

bool queue_begin(const queue_plan *plan) {
    queue = flat::bench::make_queue(*plan);
    return queue != nullptr && consumer_begin(serve, plan->processor);
}

bool queue_submit(queue_task *run, const void *payload) { return queue->submit(run, payload); }

void queue_await(void) { queue->await(); }

void queue_end(void) {
    consumer_stop();
    queue->stop();
    consumer_join();
    queue.reset();
}
