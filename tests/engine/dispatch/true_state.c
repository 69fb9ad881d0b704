/* What a policy can get at, compiled by a test with one of these: it has a dispatcher, and nothing of the engine. */
#include "engine/dispatch/least.h"
#include "engine/dispatch/view.h"

uint64_t peek(const dispatcher *of, flat_worker *worker, uint32_t shard);

uint64_t peek(const dispatcher *of, flat_worker *worker, uint32_t shard) {
    (void)worker;
#if defined(WORKER)
    return worker->ready.waiting + of->views[shard].queue;
#elif defined(ENGINE)
    return of->engine->worker_count + of->views[shard].queue;
#elif defined(REPORT)
    return of->reports[shard].waiting + of->views[shard].queue;
#else
    return of->views[shard].queue;
#endif
}
