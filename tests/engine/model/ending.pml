/* How an engine drains, stops and ends, for spin: src/engine/control.c beside OUTSIDE submitters that submit POSTS
 * tasks each, and two workers that run them, in every order their steps can come in. A task of an outside submitter
 * submits another one, from its worker to the other worker, where this is accepted.
 *
 * What travels is shown by its number alone: lanes.pml and lane.pml have the rest. An outside submitter has a store
 * buffer: what it stores is seen by the others later, in order, at any time; a fence of its own or of all empties it.
 * The others have none: nothing that a drain concludes becomes wrong if what a worker stored is seen later, as long as
 * it is seen in order. Only that a worker says that it is inside of a submit is kept in a buffer too.
 *
 *   OUTSIDE, POSTS   submitters that are no workers, and how often each submits
 *   ENDERS           0: a drain. 1: a stop. 2: both, at the same time
 *   FENCED           each side has a fence of its own, and nobody calls membarrier
 *   STOPPABLE        an outside submitter can stop for ever between any two of its steps
 *   ENDS             the engine ends while they submit, workers leave, and it is destroyed once nobody submits
 *
 * Errors that one could make, put in on purpose; model.cmake has the promise that each breaks:
 *
 *   FAULT_POSTED_AFTER_PUBLISH     a task is counted as posted once its worker may have it
 *   FAULT_POSTED_READ_FIRST        a drain reads what was posted before it reads what is finished
 *   FAULT_TAKEN_FOR_FINISHED       a task counts as finished when its worker has taken it in
 *   FAULT_SUBMITTERS_NOT_LOOKED_AT a drain does not look whether a submitter is inside of a submit
 *   FAULT_STATE_LOOKED_AT_FIRST    a submitter looks at the state before it says that it is inside
 *   FAULT_NO_FENCE_OF_ALL          a drain has a fence of its own alone, and the submitters have none
 *   FAULT_NO_LIGHT_FENCE           with FENCED: a submitter has none
 *   FAULT_STATE_BY_LOOK_AND_STORE  the state is changed by a look and a store
 *   FAULT_STOP_NOT_LOOKED_AT       a worker does not look at the state before it begins a task
 *   FAULT_END_DOES_NOT_WAIT        with ENDS: workers leave while a task is in the middle of a submit
 *   FAULT_END_WITHOUT_FENCE        with ENDS: the same, where this is not seen yet
 *   FAULT_REST_LEFT                with ENDS: what comes in once its worker has left is left there */
#ifndef OUTSIDE
#define OUTSIDE 1
#endif
#ifndef POSTS
#define POSTS 2
#endif
#ifndef ENDERS
#define ENDERS 0
#endif
#define BUFFER 2
#define WORKERS 2

/* Lane 0 is that from worker 1 to worker 0, lane 1 the one back; then come those of the outside submitters. */
#define LANES (WORKERS + OUTSIDE * WORKERS)
#define OF_WORKERS WORKERS
#define LANE(submitter, worker) (OF_WORKERS + (submitter) * WORKERS + (worker))

#ifdef FENCED
#define IS_FENCED true
#else
#define IS_FENCED false
#endif

#ifdef STOPPABLE
#define MAY_STOP if :: stopped[me] = true; goto ended :: skip fi
#else
#define MAY_STOP skip
#endif

/* What is promised. A promise stands where it must hold; its name, never set, is there for pan to print. */
hidden byte a_drain_is_done_only_when_all_is_done,
    nothing_is_accepted_after_that,
    a_drain_ends_when_all_is_done,
    a_stop_is_not_undone,
    what_was_not_begun_is_cancelled,
    a_task_submits_to_no_worker_that_has_left,
    no_task_is_lost;
#define PROMISE(name, condition) assert((condition) || name)

#define ENGINE_OPEN 0
#define ENGINE_DRAINING 1
#define ENGINE_STOPPED 2
#define ENGINE_ENDING 3

/* Memory. */
byte state;
byte entered[OUTSIDE + WORKERS];      /* odd: inside */
bool entering[WORKERS];               /* in the store buffer of a worker: it is inside */
byte posted[LANES], finished[LANES];  /* as in the code */
byte published[LANES], taken[LANES];  /* descriptors */

/* The store buffers of the outside submitters. */
#define ENTERED 0
#define LEFT 1
#define POSTED 2 /* to worker 0; 3: to worker 1 */
#define PUBLISHED 4
chan buffered0 = [BUFFER] of { byte };
chan buffered1 = [BUFFER] of { byte };

/* Known to the model alone. */
byte accepted, done;
bool stopped[OUTSIDE];
bool was_stopped; /* a stop has begun */
bool said_done;   /* a drain or a stop has said that it is done, and nobody has resumed */
bool has_left[WORKERS];
byte over;        /* outside submitters that submit no more */
hidden byte stored;

inline store(number, what) {
    if
    :: what == ENTERED || what == LEFT -> entered[number]++
    :: what == POSTED || what == POSTED + 1 -> posted[LANE(number, what - POSTED)]++
    :: else -> published[LANE(number, what - PUBLISHED)]++
    fi
}

inline store_one(number, buffer) {
    if
    :: nempty(buffer) -> buffer?stored; store(number, stored)
    :: empty(buffer)
    fi;
    stored = 0
}

inline empty_buffer_of(number) {
    if
    :: number == 0 -> store_one(0, buffered0); store_one(0, buffered0)
#if OUTSIDE > 1
    :: number == 1 -> store_one(1, buffered1); store_one(1, buffered1)
#endif
    :: else
    fi
}

#define ROOM(number) (number == 0 && nfull(buffered0) || number == 1 && nfull(buffered1))
inline keep(number, what) {
    if
    :: number == 0 -> buffered0!what
    :: else -> buffered1!what
    fi
}

inline empty_buffer_of_worker(number) {
    if
    :: entering[number] -> entering[number] = false; entered[OUTSIDE + number]++
    :: else
    fi
}

/* What leaves the buffers by itself. */
proctype memory() {
end:
    do
    :: d_step { entering[0] -> empty_buffer_of_worker(0) }
    :: d_step { entering[1] -> empty_buffer_of_worker(1) }
    :: atomic { nempty(buffered0) -> store_one(0, buffered0) }
#if OUTSIDE > 1
    :: atomic { nempty(buffered1) -> store_one(1, buffered1) }
#endif
    od
}

/* ---- The steps of steps.h. A submitter outside keeps what it stores; a worker stores it. ---- */

inline step_enter(number) {
    d_step {
        if
        :: number < OUTSIDE -> keep(number, ENTERED)
        :: else -> entering[number - OUTSIDE] = true
        fi
    }
}

inline step_leave_submit(number) {
    d_step {
        if
        :: number < OUTSIDE -> keep(number, LEFT)
        :: else -> empty_buffer_of_worker(number - OUTSIDE); entered[number]++
        fi
    }
}

inline step_light_fence(number) {
    d_step {
        if
        :: !IS_FENCED
        :: IS_FENCED && number < OUTSIDE -> empty_buffer_of(number)
        :: IS_FENCED && number >= OUTSIDE -> empty_buffer_of_worker(number - OUTSIDE)
        fi
    }
}

inline step_look_at_state(seen) {
    d_step { seen = state }
}

inline step_count_posted(number, to) {
    d_step {
        if
        :: number < OUTSIDE -> keep(number, POSTED + to)
        :: else -> empty_buffer_of_worker(number - OUTSIDE); posted[to]++
        fi
    }
}

/* From here on the task is accepted. */
inline step_publish(number, to) {
    d_step {
        PROMISE(nothing_is_accepted_after_that, !said_done);
        accepted++;
        if
        :: number < OUTSIDE -> keep(number, PUBLISHED + to)
        :: else ->
           empty_buffer_of_worker(number - OUTSIDE);
           PROMISE(a_task_submits_to_no_worker_that_has_left, !has_left[to]);
           published[to]++
        fi
    }
}

inline step_look_at_descriptor(lane, found) {
    d_step { found = published[lane] != taken[lane] }
}

inline step_count_taken(lane) {
    d_step { taken[lane]++ }
}

inline step_count_finished(lane) {
    d_step { finished[lane]++; done++ }
}

inline step_set_state(from, to, moved) {
    d_step {
        moved = (state == from);
        if
        :: moved -> state = to; was_stopped = was_stopped || to >= ENGINE_STOPPED
        :: else
        fi
    }
}

/* 0: it is not. */
inline step_is_inside(whose, into) {
    d_step { into = (entered[whose] % 2 == 1 -> entered[whose] : 0) }
}

inline step_read_finished(lane, into) {
#ifdef FAULT_TAKEN_FOR_FINISHED
    d_step { into = taken[lane] }
#else
    d_step { into = finished[lane] }
#endif
}

inline step_read_posted(lane, into) {
    d_step { into = posted[lane] }
}

/* ---- Submitters: begin_submit(), publish_descriptor() and end_submit() of submit_steps.h. Those outside submit their
 * first task to worker 0, and the next ones to any. ---- */

proctype outside(byte me) {
    byte left = POSTS, seen, worker;
submit:
    atomic {
        ROOM(me);
        if
        :: left == 0 -> goto ended
        :: left > 0 -> worker = 0
        :: left > 0 && left < POSTS -> worker = 1
        fi;
        left--;
#ifdef FAULT_STATE_LOOKED_AT_FIRST
        step_look_at_state(seen)
    }
    atomic {
#endif
        step_enter(me);
        MAY_STOP
    }
#ifndef FAULT_NO_LIGHT_FENCE
    step_light_fence(me);
#endif
    atomic {
#ifndef FAULT_STATE_LOOKED_AT_FIRST
        step_look_at_state(seen);
#endif
        if
        :: seen >= ENGINE_DRAINING -> goto leave
        :: else -> MAY_STOP
        fi
    }
    atomic { ROOM(me); step_count_posted(me, worker); MAY_STOP }
    atomic { ROOM(me); step_publish(me, worker); MAY_STOP }
leave:
    atomic { ROOM(me); step_leave_submit(me); seen = 0; worker = 0; goto submit }
ended:
    over++
}

/* ---- A worker: flat_engine_work() of worker.c ---- */

/* A task begins, unless the engine was stopped; that of an outside submitter submits another one. */
inline take_in_and_work(lane) {
    step_count_taken(lane);
    atomic {
#ifndef FAULT_STOP_NOT_LOOKED_AT
        step_look_at_state(seen);
#endif
        PROMISE(what_was_not_begun_is_cancelled, !was_stopped || seen >= ENGINE_STOPPED);
        if
        :: seen >= ENGINE_STOPPED || lane < OF_WORKERS -> goto finish
        :: else
        fi
    }
    step_enter(OUTSIDE + me);
    step_light_fence(OUTSIDE + me);
    atomic {
        step_look_at_state(seen);
        if
        :: seen >= ENGINE_STOPPED -> goto leave_submit
        :: else
        fi
    }
#ifdef FAULT_POSTED_AFTER_PUBLISH
    step_publish(OUTSIDE + me, 1 - me);
    step_count_posted(OUTSIDE + me, 1 - me);
#else
    step_count_posted(OUTSIDE + me, 1 - me);
    step_publish(OUTSIDE + me, 1 - me);
#endif
leave_submit:
    step_leave_submit(OUTSIDE + me);
finish:
    atomic { step_count_finished(lane); seen = 0 }
}

/* Looks at lane after lane, from any of them on. */
inline look_for_mail(lane) {
    select(lane : 0 .. OUTSIDE);
    lane = lane * WORKERS + me;
    step_look_at_descriptor(lane, found)
}

#define HAS_MAIL(me)                                                                                                   \
    (published[me] != taken[me] || published[LANE(0, me)] != taken[LANE(0, me)] ||                                     \
     published[LANE(OUTSIDE - 1, me)] != taken[LANE(OUTSIDE - 1, me)])

/* Where there is nothing to do it waits: sleep.pml shows that it is woken. */
proctype worker(byte me) {
    byte lane, seen;
    bool found;
work:
    found = false;
    lane = 0;
end:
    atomic {
        if
        :: HAS_MAIL(me) ->
           look_for_mail(lane);
           if
           :: !found -> goto work
           :: else
           fi
        :: !HAS_MAIL(me) && state >= ENGINE_ENDING -> has_left[me] = true; goto leave
        fi
    }
    take_in_and_work(lane);
    goto work;
leave:
    skip
}

/* ---- A drain, a stop, and the end: settle() of control.c, flat_engine_destroy() of setup.c ---- */

inline change_state(to) {
#ifdef FAULT_STATE_BY_LOOK_AND_STORE
    step_look_at_state(seen);
    atomic {
        if
        :: seen < to -> state = to; was_stopped = was_stopped || to >= ENGINE_STOPPED
        :: else
        fi;
        seen = 0
    }
#else
    do
    :: step_look_at_state(seen);
       atomic {
           if
           :: seen >= to -> break
           :: else -> step_set_state(seen, to, found)
           fi;
           if
           :: found -> break
           :: else
           fi
       }
    od;
    atomic { found = false; seen = 0 }
#endif
}

/* What this does to the others: they have a fence, one after another. The caller has nothing to be seen by it here. */
inline fence_both() {
#if !defined(FENCED) && !defined(FAULT_NO_FENCE_OF_ALL)
    do
    :: d_step { i < OUTSIDE -> empty_buffer_of(i); i++ }
    :: d_step { i >= OUTSIDE && i < OUTSIDE + WORKERS -> empty_buffer_of_worker(i - OUTSIDE); i++ }
    :: atomic { i == OUTSIDE + WORKERS -> i = 0; break }
    od
#else
    skip
#endif
}

/* all_have_passed(): each submitter has to be seen outside once, or in another submit than before. Where it was not,
 * the drain looks again, or its time is over. */
inline wait_until_all_have_passed() {
#ifndef FAULT_SUBMITTERS_NOT_LOOKED_AT
    do
    :: atomic {
           i < OUTSIDE -> step_is_inside(i, number);
           if
           :: number != 0 && (seen == 0 || seen == number) -> seen = number; number = 0
           :: number != 0 && (seen == 0 || seen == number) -> goto timed_out
           :: else -> seen = 0; number = 0; i++
           fi
       }
    :: atomic { i == OUTSIDE -> i = 0; break }
    od
#else
    skip
#endif
}

inline subtract_finished() {
    do
    :: atomic { i < LANES -> step_read_finished(i, number); open = open - number; number = 0; i++ }
    :: atomic { i == LANES -> i = 0; break }
    od
}

inline add_posted() {
    do
    :: atomic { i < LANES -> step_read_posted(i, number); open = open + number; number = 0; i++ }
    :: atomic { i == LANES -> i = 0; break }
    od
}

/* It adds up once, at any time: that it does so again, where it found that something is to be done, is the same as if
 * it had done so later. */
proctype ender(byte to) {
    byte i, seen, number, open;
    bool found;
    change_state(to);
    fence_both();
    wait_until_all_have_passed();
#ifdef FAULT_POSTED_READ_FIRST
    add_posted();
    subtract_finished();
#else
    subtract_finished();
    add_posted();
#endif
    atomic {
        if
        :: open == 0 ->
           PROMISE(a_drain_is_done_only_when_all_is_done, accepted == done);
           PROMISE(a_stop_is_not_undone, state >= to);
           said_done = true
        :: else
        fi;
        open = 0
    }
timed_out:
    skip
}

/* flat_engine_end() of control.c: is_submitting() has to find all workers outside, one after another. */
inline end_engine() {
    change_state(ENGINE_STOPPED);
#ifndef FAULT_END_WITHOUT_FENCE
    fence_both();
#endif
#ifndef FAULT_END_DOES_NOT_WAIT
    do
    :: atomic {
           i < WORKERS -> step_is_inside(OUTSIDE + i, lane);
           if
           :: lane != 0 -> lane = 0; i = 0
           :: else -> i++
           fi
       }
    :: atomic { i == WORKERS -> i = 0; break }
    od;
#endif
    change_state(ENGINE_ENDING)
}

/* It does what the workers have left. */
proctype destroyer() {
    byte me, lane, seen, i;
    bool found;
    end_engine();
    has_left[0] && has_left[1] && over == OUTSIDE;
#ifndef FAULT_REST_LEFT
    do
    :: me < WORKERS && HAS_MAIL(me) ->
       look_for_mail(lane);
       if
       :: found -> take_in_and_work(lane)
       :: else
       fi
    :: me < WORKERS && !HAS_MAIL(me) -> me++
    :: me == WORKERS -> break
    od
#endif
}

/* When nothing moves any more, all that was accepted is done. A drain that looks then finds that, unless a submitter
 * has stopped inside. */
active proctype last_look() {
    byte i, all_finished, all_posted;
    bool anyone_inside;
    timeout;
    d_step {
        PROMISE(no_task_is_lost, accepted == done);
        for (i : 0 .. LANES - 1) {
            all_finished = all_finished + finished[i];
            all_posted = all_posted + posted[i]
        }
        for (i : 0 .. OUTSIDE - 1) {
            anyone_inside = anyone_inside || entered[i] % 2 == 1;
            PROMISE(a_drain_ends_when_all_is_done, stopped[i] || entered[i] % 2 == 0)
        }
        PROMISE(a_drain_ends_when_all_is_done, anyone_inside || all_finished == all_posted);
        PROMISE(a_stop_is_not_undone, !was_stopped || state >= ENGINE_STOPPED)
    }
}

init {
    byte i;
    atomic {
        run memory();
        run worker(0);
        run worker(1);
        for (i : 0 .. OUTSIDE - 1) {
            run outside(i)
        }
#ifdef ENDS
        run destroyer();
#else
#if ENDERS == 1
        run ender(ENGINE_STOPPED);
#else
        run ender(ENGINE_DRAINING);
#endif
#if ENDERS == 2
        run ender(ENGINE_STOPPED);
#endif
#endif
        i = 0
    }
}
