/* The policies: see dispatcher.h. None has a loop but over shards, words of a set, a pool of answers or a distribution,
 * each with a bound. */
#include "dispatcher.h"
#include "least.h"
#include "prequal.h"
#include "view.h"

/* Of 65,536: shards on which more blocks are held than on so many of them are hot. */
#define HELD_QUANTILE 64500

#define SENDS_RATED 64 /* sends from one sample of the own rate to the next */

static inline uint32_t or_default(uint32_t given, uint32_t otherwise) { return given != 0 ? given : otherwise; }

size_t flat_dispatcher_bytes(uint32_t shards) { return shards * (sizeof(shard_view) + sizeof(by_type)) + LINE_PAIR; }

void flat_dispatcher_init(dispatcher *of, const dispatcher_options *options, void *memory, uint64_t now) {
    *of = (dispatcher){.options = *options, .words = shard_words(options->shards), .remembered = NO_SHARD};
    of->options.dispatchers = or_default(options->dispatchers, 1);
    of->options.choices = or_default(options->choices, 2);
    of->options.bound = or_default(options->bound, 2);
    of->options.decay = or_default(options->decay, 1u << 20);
    of->options.hot_quantile =
        or_default(options->hot_quantile, options->policy == DISPATCH_PREQUAL ? PREQUAL_QUANTILE : HELD_QUANTILE);
    of->by_chance.state = options->seed;
    of->views = memory;
    of->slower = (by_type *)(void *)(of->views + options->shards);
    of->rated_since = now;
    for (uint32_t i = 0; i < options->shards; i++) {
        of->views[i] = (shard_view){.as_of = now,
                                    .left_at = now,
                                    .wait_at = NOT_PREDICTED,
                                    .runs_out_at = UINT64_MAX,
                                    .evened = SHARE_ONE,
                                    .slowness = SHARE_ONE,
                                    .uncounted.each = 1};
        of->slower[i] = (by_type){{0}};
    }
    of->looked = now;
    of->next = chance_below(&of->by_chance, options->shards);
}

/* Scores. */

static inline uint64_t queue_score(const dispatcher *of, uint32_t shard, const scored_task *task) {
    (void)task;
    return of->views[shard].queue;
}

static inline uint64_t flight_score(const dispatcher *of, uint32_t shard, const scored_task *task) {
    (void)task;
    return of->views[shard].in_flight;
}

static inline uint64_t delay_score(const dispatcher *of, uint32_t shard, const scored_task *task) {
    (void)task;
    return (uint64_t)(of->views[shard].queue + 1) * of->views[shard].service;
}

/* A peak that decays by half in `decay` ticks: linearly between the halves. */
static inline uint64_t decayed(const dispatcher *of, const shard_view *view, uint64_t now) {
    uint64_t age = now - view->peak_at, halves = age / of->options.decay;
    if (halves >= 32) return 0;
    uint64_t half = view->peak >> halves >> 1, rest = age % of->options.decay;
    return (view->peak >> halves) - half * rest / of->options.decay;
}

/* With nothing known but own tasks on their way it is the least wanted of all, as in Finagle. */
static inline uint64_t peak_score(const dispatcher *of, uint32_t shard, const scored_task *task) {
    const shard_view *view = &of->views[shard];
    if (view->peak == 0 && view->own != 0) return (UINT64_C(1) << 62) + view->own;
    return decayed(of, view, task->now) * (view->own + 1);
}

/* R - 1/mu + q^3 / mu, with q = 1 + own tasks there * dispatchers + the mean queue (Suresh, Canini, Schmid, Feldmann,
 * "C3: cutting tail latency in cloud data stores via adaptive replica selection", NSDI 2015). */
static inline uint64_t c3_score(const dispatcher *of, uint32_t shard, const scored_task *task) {
    const shard_view *view = &of->views[shard];
    uint64_t queue = 16 + (uint64_t)view->own * of->options.dispatchers * 16 + view->mean_queue;
    if (queue > 1u << 16) queue = 1u << 16;
    (void)task;
    return ((uint64_t)1 << 33) + view->response - view->service + (queue * queue * queue >> 12) * view->service;
}

static inline uint64_t sojourn_score(const dispatcher *of, uint32_t shard, const scored_task *task) {
    shard_view *view = &of->views[shard];
    return predicted_wait(of, view, task->now) + service_at(of, shard, task->type);
}

/* Choosing. */

typedef bool shard_test(const dispatcher *of, shard_view *view, uint32_t most, const scored_task *task);

/* The shards of the mask that pass a test. False iff there is none. */
ALWAYS_INLINE bool those_that(const dispatcher *of, const uint64_t *mask, shard_test *passes, uint32_t most,
                              const scored_task *task, uint64_t *passing) {
    uint64_t any = 0;
    for (uint32_t word = 0; word < of->words; word++) {
        FLAT_LOOP_AT_MOST(SHARD_WORDS);
        passing[word] = 0;
        for (uint64_t left = mask[word]; left != 0; left &= left - 1) {
            FLAT_LOOP_AT_MOST(DISPATCH_MOST_SHARDS);
            uint32_t bit = (uint32_t)__builtin_ctzll(left);
            passing[word] |= (uint64_t)passes(of, &of->views[word * 64 + bit], most, task) << bit;
        }
        any |= passing[word];
    }
    return any != 0;
}

static inline bool is_below_bound(const dispatcher *of, shard_view *view, uint32_t most, const scored_task *task) {
    (void)of, (void)task;
    return view->own < most;
}

/* No more blocks are held than `most`, and no class runs out before a task sent now is done. */
static inline bool is_cold(const dispatcher *of, shard_view *view, uint32_t most, const scored_task *task) {
    if (view->held > most) return false;
    if (!has_part(of, DISPATCH_PART_EXHAUSTION) || view->runs_out_at == UINT64_MAX) return true;
    return view->runs_out_at > task->now + predicted_wait(of, view, task->now) + 2 * (uint64_t)view->service;
}

static inline bool cold_ones(const dispatcher *of, const uint64_t *mask, const scored_task *task, uint64_t *cold) {
    uint32_t most = has_part(of, DISPATCH_PART_OCCUPANCY) ? flight_threshold(of) : UINT32_MAX;
    return those_that(of, mask, is_cold, most, task, cold);
}

/* The shortest queue of those to which this dispatcher has sent fewer tasks than its bound; of all, iff there is none.
 */
static inline uint32_t bounded_choice(dispatcher *of, const uint64_t *mask, const scored_task *task) {
    uint64_t below[SHARD_WORDS];
    bool any = those_that(of, mask, is_below_bound, of->options.bound, task, below);
    return least_of(of, any ? below : mask, queue_score, task);
}

/* A type whose tasks hold their blocks for so many times as long as a task takes is spread by what is in flight. */
#define HOLDS_LONG 4

static inline bool holds_long(const dispatcher *of, uint32_t type) {
    return has_part(of, DISPATCH_PART_OCCUPANCY) && of->held[type] > (uint64_t)HOLDS_LONG * of->service;
}

static inline uint32_t predictive_choice(dispatcher *of, const uint64_t *mask, const scored_task *task) {
    uint64_t cold[SHARD_WORDS];
    if (holds_long(of, task->type) || !cold_ones(of, mask, task, cold)) return least_of(of, mask, flight_score, task);
    return about_least_of(of, cold, sojourn_score, task, uncertainty(of));
}

/* Queues of a set of shards, by their length. */
#define QUEUE_LENGTHS 64 /* longer ones count as of the longest of these */
typedef struct queue_lengths {
    uint32_t counts[QUEUE_LENGTHS];
    uint32_t shards;
    uint32_t mean_age;
} queue_lengths;

static inline uint32_t counted_length(const shard_view *view) {
    return view->queue < QUEUE_LENGTHS ? view->queue : QUEUE_LENGTHS - 1;
}

static inline void count_lengths(const dispatcher *of, const uint64_t *set, uint64_t now, queue_lengths *lengths) {
    uint64_t ages = 0;
    lengths->shards = lengths->mean_age = 0;
    for (uint32_t i = 0; i < QUEUE_LENGTHS; i++) {
        FLAT_LOOP_AT_MOST(QUEUE_LENGTHS);
        lengths->counts[i] = 0;
    }
    for (uint32_t word = 0; word < of->words; word++) {
        FLAT_LOOP_AT_MOST(SHARD_WORDS);
        for (uint64_t left = set[word]; left != 0; left &= left - 1) {
            FLAT_LOOP_AT_MOST(DISPATCH_MOST_SHARDS);
            const shard_view *view = &of->views[word * 64 + (uint32_t)__builtin_ctzll(left)];
            lengths->counts[counted_length(view)]++;
            lengths->shards++;
            ages += now > view->as_of ? saturated(now - view->as_of) : 0;
        }
    }
    if (lengths->shards != 0) lengths->mean_age = saturated(ages / lengths->shards);
}

#define PART_OF_TASK 256u /* levels and shares are in units of 1/256 of a task */

/* The level to which `tasks` (in parts) fill up the queues. */
static inline uint64_t filled_level(const queue_lengths *lengths, uint64_t tasks) {
    uint64_t filled = 0;
    for (uint32_t length = 0; length < QUEUE_LENGTHS; length++) {
        FLAT_LOOP_AT_MOST(QUEUE_LENGTHS);
        filled += lengths->counts[length];
        if (filled == 0) continue;
        uint64_t to_next = filled * PART_OF_TASK;
        if (tasks < to_next) return length * PART_OF_TASK + tasks / filled;
        tasks -= to_next;
    }
    return QUEUE_LENGTHS * PART_OF_TASK + tasks / lengths->shards;
}

/* Dahlin's basic interpretation of stale load ("Interpreting stale load information", IEEE TPDS 11, 2000): what comes
 * while the reports age shall lift all queues to one level. So a shard below it is chosen in proportion to what it
 * lacks. */
static inline uint32_t stale_load_choice(dispatcher *of, const uint64_t *mask, const scored_task *task) {
    queue_lengths lengths;
    count_lengths(of, mask, task->now, &lengths);
    if (lengths.shards == 0) return NO_SHARD;
    uint64_t come = ((uint64_t)of->arrival_rate * lengths.shards >> 8) * lengths.mean_age >> 16;
    uint64_t level = filled_level(&lengths, come), lacking = 0;
    for (uint32_t length = 0; length < QUEUE_LENGTHS && length * PART_OF_TASK < level; length++) {
        FLAT_LOOP_AT_MOST(QUEUE_LENGTHS);
        lacking += lengths.counts[length] * (level - length * PART_OF_TASK);
    }
    if (lacking == 0) return least_of(of, mask, queue_score, task);
    uint64_t at = (chance_bits(&of->by_chance) >> 32) * lacking >> 32; /* lacking < 2^32 */
    for (uint32_t word = 0; word < of->words; word++) {
        FLAT_LOOP_AT_MOST(SHARD_WORDS);
        for (uint64_t left = mask[word]; left != 0; left &= left - 1) {
            FLAT_LOOP_AT_MOST(DISPATCH_MOST_SHARDS);
            uint32_t shard = word * 64 + (uint32_t)__builtin_ctzll(left);
            uint64_t length = (uint64_t)counted_length(&of->views[shard]) * PART_OF_TASK;
            uint64_t share = length < level ? level - length : 0;
            if (at < share) return shard;
            at -= share;
        }
    }
    return NO_SHARD;
}

/* The next shard of the mask after the one that was chosen last. */
static inline uint32_t next_in_turn(dispatcher *of, const uint64_t *mask) {
    uint32_t shard = NO_SHARD;
    for (uint32_t i = 0; i <= of->words && shard == NO_SHARD; i++) {
        FLAT_LOOP_AT_MOST(SHARD_WORDS + 1);
        uint32_t word = (of->next / 64 + i) % of->words;
        uint64_t from = i == 0 ? ~UINT64_C(0) << of->next % 64 : ~UINT64_C(0);
        uint64_t left = mask[word] & from;
        if (left != 0) shard = word * 64 + (uint32_t)__builtin_ctzll(left);
    }
    if (shard != NO_SHARD) of->next = shard + 1 < of->options.shards ? shard + 1 : 0;
    return shard;
}

/* One of the mask that said that it is idle, which it is not from now on; any of the mask, iff there is none. */
static inline uint32_t idle_choice(dispatcher *of, const uint64_t *mask) {
    uint64_t idle[SHARD_WORDS];
    for (uint32_t word = 0; word < of->words; word++) {
        FLAT_LOOP_AT_MOST(SHARD_WORDS);
        idle[word] = __atomic_load_n(&of->idle[word], __ATOMIC_RELAXED) & mask[word];
    }
    uint32_t shard = any_shard(&of->by_chance, idle, of->words);
    if (shard == NO_SHARD) return any_shard(&of->by_chance, mask, of->words);
    __atomic_fetch_and(&of->idle[shard / 64], ~(UINT64_C(1) << shard % 64), __ATOMIC_RELAXED);
    return shard;
}

/* The best of those whose reports were read, either of two equal ones at random. */
static inline uint32_t best_probed(dispatcher *of, uint32_t except, shard_score *score, const scored_task *task) {
    uint64_t set[SHARD_WORDS];
    for (uint32_t word = 0; word < of->words; word++) {
        FLAT_LOOP_AT_MOST(SHARD_WORDS);
        set[word] = 0;
    }
    for (uint32_t i = 0; i < of->probe_count; i++) {
        FLAT_LOOP_AT_MOST(DISPATCH_MOST_PROBES);
        if (of->probes[i] != except) shard_add(set, of->probes[i]);
    }
    return least_of(of, set, score, task);
}

/* Of the shards whose reports were read, the one that has the fewest tasks once this one is sent is remembered
 * (Mitzenmacher, Prabhakar, Shah, "Load balancing with memory", FOCS 2002). */
static inline uint32_t choice_with_memory(dispatcher *of, const scored_task *task) {
    uint32_t best = best_probed(of, NO_SHARD, queue_score, task), second = best_probed(of, best, queue_score, task);
    bool passes = second != NO_SHARD && of->views[second].queue <= of->views[best].queue;
    of->remembered = passes ? second : best;
    return best;
}

/* Shards that said that they are idle: that is news of them. */
static inline void hear_idle_shards(dispatcher *of, uint64_t since) {
    for (uint32_t word = 0; word < of->words; word++) {
        FLAT_LOOP_AT_MOST(SHARD_WORDS);
        uint64_t said = __atomic_load_n(&of->idle[word], __ATOMIC_RELAXED);
        if (said == 0) continue;
        said = __atomic_exchange_n(&of->idle[word], 0, __ATOMIC_RELAXED);
        for (; said != 0; said &= said - 1) {
            FLAT_LOOP_AT_MOST(DISPATCH_MOST_SHARDS);
            view_idle(of, &of->views[word * 64 + (uint32_t)__builtin_ctzll(said)], since);
        }
    }
}

/* Looking. */

static inline bool is_probed(const dispatcher *of, uint32_t shard) {
    for (uint32_t i = 0; i < of->probe_count; i++) {
        FLAT_LOOP_AT_MOST(DISPATCH_MOST_PROBES * DISPATCH_MOST_PROBES);
        if (of->probes[i] == shard) return true;
    }
    return false;
}

static inline void add_probe(dispatcher *of, uint32_t shard) {
    if (shard != NO_SHARD && !is_probed(of, shard)) of->probes[of->probe_count++] = shard;
}

/* Up to `choices` shards of the mask at random, each once and all sets of them equally likely (Floyd's way: Bentley,
 * "Programming pearls: a sample of brilliance", 1987). */
static inline void probe_at_random(dispatcher *of, const uint64_t *mask) {
    uint32_t there = shards_in(mask, of->words), choices = of->options.choices < there ? of->options.choices : there;
    for (uint32_t last = there - choices; last < there; last++) {
        FLAT_LOOP_AT_MOST(DISPATCH_MOST_PROBES);
        uint32_t shard = shard_of_rank(mask, of->words, chance_below(&of->by_chance, last + 1));
        add_probe(of, is_probed(of, shard) ? shard_of_rank(mask, of->words, last) : shard);
    }
}

/* The shard that the policy would choose by what is known now: its report is read as well. */
static uint32_t best_known(dispatcher *of, const uint64_t *mask, const scored_task *task) {
    switch (of->options.policy) {
    case DISPATCH_SHORTEST_QUEUE: return least_of(of, mask, queue_score, task);
    case DISPATCH_BOUNDED_QUEUE: return bounded_choice(of, mask, task);
    case DISPATCH_LEAST_OCCUPIED: return least_of(of, mask, flight_score, task);
    case DISPATCH_SHORTEST_DELAY: return least_of(of, mask, delay_score, task);
    case DISPATCH_C3: return least_of(of, mask, c3_score, task);
    case DISPATCH_PREDICTIVE: return predictive_choice(of, mask, task);
    default: return any_shard(&of->by_chance, mask, of->words);
    }
}

uint32_t flat_dispatcher_look(dispatcher *of, const uint64_t *mask, uint32_t type, uint64_t now) {
    const scored_task task = {.type = type, .now = now};
    uint64_t since = of->looked;
    of->probe_count = 0;
    of->looked = now;
    if (of->options.policy == DISPATCH_PREDICTIVE && has_part(of, DISPATCH_PART_IDLE)) hear_idle_shards(of, since);
    switch (of->options.policy) {
    case DISPATCH_TWO_CHOICES:
    case DISPATCH_PEAK_EWMA: probe_at_random(of, mask); break;
    case DISPATCH_TWO_CHOICES_MEMORY:
        probe_at_random(of, mask);
        if (of->remembered != NO_SHARD && shard_is_in(mask, of->remembered)) add_probe(of, of->remembered);
        break;
    case DISPATCH_SHORTEST_QUEUE:
    case DISPATCH_BOUNDED_QUEUE:
    case DISPATCH_LEAST_OCCUPIED:
    case DISPATCH_SHORTEST_DELAY:
    case DISPATCH_C3:
    case DISPATCH_PREQUAL:
    case DISPATCH_STALE_LOAD:
    case DISPATCH_PREDICTIVE:
        probe_at_random(of, mask);
        add_probe(of, best_known(of, mask, &task));
        break;
    default: break;
    }
    return of->probe_count;
}

/* Knowing. */

void flat_dispatcher_learn(dispatcher *of, uint32_t shard, const load_report *report, uint64_t as_of) {
    shard_view *view = &of->views[shard];
    view_learn(of, shard, report, as_of);
    if (of->options.policy == DISPATCH_PREQUAL) {
        prequal_answer(of, shard, as_of);
    } else {
        count_in_flight(of, view->held);
    }
    view->mean_queue = moved(view->mean_queue, report->waiting * 16, 2);
}

uint32_t flat_dispatcher_next_services(dispatcher *of, uint32_t picked) {
    if (of->options.policy != DISPATCH_PREDICTIVE) return NO_SHARD;
    of->reads_picked = !of->reads_picked;
    return of->reads_picked || of->probe_count == 0 ? picked
                                                    : of->probes[chance_below(&of->by_chance, of->probe_count)];
}

void flat_dispatcher_learn_services(dispatcher *of, uint32_t shard, const load_services *services) {
    if (has_part(of, DISPATCH_PART_SERVICE)) learn_services(of, shard, services);
}

void flat_dispatcher_sent(dispatcher *of, uint32_t shard, uint32_t type, uint64_t now) {
    shard_view *view = &of->views[shard];
    uint32_t service = service_at(of, shard, type);
    if (has_part(of, DISPATCH_PART_SENDS) || of->options.policy != DISPATCH_PREDICTIVE) {
        view->queue++;
        view->in_flight++;
        view_send(of, view, service, now);
    }
    view->own++;
    own_sends_add(&view->uncounted, service, now);
    if (++of->rated_sends < SENDS_RATED) return;
    uint64_t ticks = now > of->rated_since ? now - of->rated_since : 1;
    uint32_t rate = saturated(((uint64_t)SENDS_RATED << 32) / ticks);
    of->send_rate = of->send_rate == 0 ? rate : moved(of->send_rate, rate, RATE_GAIN);
    of->rated_sends = 0;
    of->rated_since = now;
}

void flat_dispatcher_returned(dispatcher *of, uint32_t shard, uint32_t type, uint64_t sojourn, uint64_t held,
                              uint64_t now) {
    shard_view *view = &of->views[shard];
    view->own -= view->own != 0;
    if (sojourn == 0) return;
    of->held[type] = moved(of->held[type], saturated(held), RATE_GAIN + 2);
    uint32_t took = saturated(sojourn), peak = (uint32_t)decayed(of, view, now);
    view->response = view->response == 0 ? took : moved(view->response, took, 3);
    view->peak = took > peak ? took : peak != 0 ? moved(peak, took, USUAL_GAIN) : took;
    view->peak_at = now;
}

uint32_t flat_dispatcher_pick(dispatcher *of, const uint64_t *mask, uint32_t type, uint64_t now) {
    const scored_task task = {.type = type, .now = now};
    switch (of->options.policy) {
    case DISPATCH_RANDOM: return any_shard(&of->by_chance, mask, of->words);
    case DISPATCH_ROUND_ROBIN: return next_in_turn(of, mask);
    case DISPATCH_IDLE_QUEUE: return idle_choice(of, mask);
    case DISPATCH_TWO_CHOICES: return best_probed(of, NO_SHARD, queue_score, &task);
    case DISPATCH_PEAK_EWMA: return best_probed(of, NO_SHARD, peak_score, &task);
    case DISPATCH_TWO_CHOICES_MEMORY: return choice_with_memory(of, &task);
    case DISPATCH_PREQUAL: return prequal_pick(of, mask);
    case DISPATCH_STALE_LOAD: return stale_load_choice(of, mask, &task);
    default: return best_known(of, mask, &task);
    }
}
