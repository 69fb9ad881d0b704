/* A lane for spin: src/engine/lane_grants.h, submit_steps.h, submit.c and worker.c by one submitter and one worker, in
 * every order their steps can come in, and what control.c does to the lane of a thread that has left or ended. What each
 * side writes and reads plainly, descriptors and payloads, are steps of their own.
 *
 * The lane has GRANTS grants of one class. Its tasks, TASKS of each owner, want a completion or none. Whether a task
 * runs before another one is open: urgencies and starts only choose an order. The steps are taken to be seen by all
 * threads in one order: what the memory orders in steps.h have to bring about is argued there. sleep.pml and ending.pml
 * have what depends on more.
 *
 *   GRANTS, TASKS   see above
 *   CANCELS         how often an owner asks for a task to be cancelled
 *   OWNERS          2: when the first owner has left or ended, another thread makes the lane as new and owns it
 *   ENDS            the first owner's thread can end between any two of its steps, or stop for ever
 *
 * Errors that one could make, put in on purpose; model.cmake has the promise that each breaks:
 *
 *   FAULT_PUBLISHED_FIRST         a descriptor is published before it is written
 *   FAULT_GIVEN_BACK_FIRST        a grant is given back before its task has run
 *   FAULT_RING_TOO_SHORT          the ring of descriptors has a place for each grant
 *   FAULT_COMPLETIONS_TOO_FEW     the ring of completions has one place less than there are grants
 *   FAULT_FREE_AT_COMPLETION      a grant is used again before its completion was polled
 *   FAULT_PARITY_KEPT             the submitter does not tell a new entry from one of the lap before
 *   FAULT_CANCELLATION_TAKES_BACK who cancels has its grant back at once
 *   FAULT_RUNNING_TASK_CANCELLED  a worker cancels a task that does not wait
 *   FAULT_CANCELLED_AGAIN         one cancels without regard to the last cancellation, which may not have been seen
 *   FAULT_CANCELS_WITHOUT_ENTERING a drain does not see that a submitter is about to cancel
 *   FAULT_FINISHED_FIRST          a task is counted as finished before its grant is given back
 *   FAULT_RECLAIM_DOES_NOT_WAIT   a lane is made as new with tasks in flight
 *   FAULT_NEXT_NOT_LOOKED_AT      the same, where its worker has not taken the task in yet
 *   FAULT_PLACES_KEPT             a lane that is made as new keeps the submitter's places in the rings
 *   FAULT_POSTED_KEPT             a lane that is made as new keeps the count of what was posted */
#ifndef GRANTS
#define GRANTS 2
#endif
#ifndef TASKS
#define TASKS 3
#endif
#ifndef CANCELS
#define CANCELS 0
#endif
#ifndef OWNERS
#define OWNERS 1
#endif

#ifdef FAULT_RING_TOO_SHORT
#define LENGTH GRANTS
#else
#define LENGTH (2 * GRANTS)
#endif
#ifdef FAULT_COMPLETIONS_TOO_FEW
#define PLACES (GRANTS - 1)
#else
#define PLACES GRANTS
#endif

#ifdef ENDS
#define MAY_END if :: me == 0 -> goto ended :: skip fi
#else
#define MAY_END skip
#endif

/* What is promised. A promise stands where it must hold; its name, never set, is there for pan to print. */
hidden byte a_task_is_run_once_with_its_payload,
    no_descriptor_is_overwritten,
    no_completion_is_overwritten,
    a_task_is_cancelled_only_before_it_begins,
    a_drain_ends_when_all_is_done,
    no_grant_is_lost,
    no_task_is_lost;
#define PROMISE(name, condition) assert((condition) || name)

/* Memory that both sides see. */
byte lap[LENGTH];                                   /* of each descriptor, and what is in it: */
byte task_at[LENGTH], grant_at[LENGTH], generation_at[LENGTH];
bool cancels_at[LENGTH], wants_at[LENGTH];
byte payload[GRANTS];                               /* a block of each grant */
byte returned[GRANTS], completed[PLACES];           /* entries: the grant, and the parity of the lap */
byte posted, finished, count_taken;
bool entered;
#define NO_ENTRY 0
#define ENTRY(grant, parity) ((grant) << 1 | (parity))
#define GRANT_OF(entry) ((entry) >> 1)
#define PARITY_OF(entry) ((entry) & 1)

/* The submitter's side, which a lane keeps from owner to owner. */
#define GRANT_LEFT 0
#define GRANT_POSTED 1
byte at, its_lap = 1, returned_at, completed_at;
bit returned_parity = 1, completed_parity = 1;
byte state_of[GRANTS], generation[GRANTS], cancelled[GRANTS];

/* The worker's side. */
byte in_at, in_lap = 1, return_at, complete_at;
bit return_parity = 1, complete_parity = 1;
byte record_task[GRANTS], record_generation[GRANTS];
bool is_waiting[GRANTS], record_wants[GRANTS];

/* Known to the model alone. */
#define ALL_TASKS (OWNERS * TASKS)
#define UNKNOWN 0
#define ACCEPTED 1
#define BEGUN 2
#define DONE 3
byte fate[ALL_TASKS + 1];
byte last_task;
byte meant_at[LENGTH];   /* the task that a cancellation is of */
bool untaken[LENGTH];    /* published, and not copied yet */
bool unread_completion[PLACES];
bool has_gone;           /* the first owner has left or ended */

inline go_on(place, parity, length) {
    place++;
    if
    :: place == length -> place = 0; parity = 1 - parity
    :: else
    fi
}

/* ---- The steps of steps.h ---- */

inline step_enter() {
    d_step { entered = true }
}

inline step_leave_submit() {
    d_step { entered = false }
}

inline step_count_posted() {
    d_step { posted++ }
}

inline step_publish(place, of_lap) {
    d_step {
        lap[place] = of_lap;
        untaken[place] = true;
        if
        :: !cancels_at[place] -> fate[task_at[place]] = ACCEPTED
        :: else
        fi
    }
}

inline step_look_at_descriptor(place, of_lap, is_new) {
    d_step { is_new = (lap[place] == of_lap) }
}

inline step_give_back(grant) {
    d_step { returned[return_at] = ENTRY(grant, return_parity) }
}

inline step_complete(grant) {
    d_step {
        PROMISE(no_completion_is_overwritten, !unread_completion[complete_at]);
        completed[complete_at] = ENTRY(grant, complete_parity);
        unread_completion[complete_at] = true
    }
}

inline step_look_at_returned(entry) {
    d_step { entry = returned[returned_at] }
}

inline step_look_at_completion(entry) {
    d_step { entry = completed[completed_at] }
}

inline step_count_taken() {
    d_step { count_taken++ }
}

inline step_count_finished() {
    d_step { finished++ }
}

inline step_read_finished(into) {
    d_step { into = finished }
}

inline step_read_taken(into) {
    d_step { into = count_taken }
}

inline step_renew_posted(to) {
    d_step { posted = to }
}

/* ---- The submitter ---- */

#ifdef FAULT_PARITY_KEPT
#define IS_NEW(entry, parity) (entry != NO_ENTRY)
#else
#define IS_NEW(entry, parity) (PARITY_OF(entry) == parity)
#endif

inline take_back_grant(grant) {
    generation[grant]++;
    state_of[grant] = GRANT_LEFT
}

/* recover_grant() of lane_grants.h. */
inline recover(found) {
    atomic {
        step_look_at_returned(entry);
        found = IS_NEW(entry, returned_parity);
        if
        :: found ->
           go_on(returned_at, returned_parity, GRANTS);
           take_back_grant(GRANT_OF(entry))
        :: else
        fi;
        entry = 0
    }
}

/* take_completion() of submit.c. */
inline poll() {
    atomic {
        step_look_at_completion(entry);
        if
        :: IS_NEW(entry, completed_parity) ->
           unread_completion[completed_at] = false;
           go_on(completed_at, completed_parity, PLACES);
#ifndef FAULT_FREE_AT_COMPLETION
           take_back_grant(GRANT_OF(entry))
#endif
        :: else
        fi;
        entry = 0
    }
}

inline write_descriptor(task, grant, cancels, wants, meant) {
    PROMISE(no_descriptor_is_overwritten, !untaken[place]);
    task_at[place] = task;
    grant_at[place] = grant;
    generation_at[place] = generation[grant];
    cancels_at[place] = cancels;
    wants_at[place] = wants;
    meant_at[place] = meant
}

/* publish_descriptor() of submit_steps.h. */
inline advance() {
    place = at;
    of_lap = its_lap;
    at++;
    if
    :: at == LENGTH -> at = 0; its_lap++
    :: else
    fi
}

/* flat_engine_grant(), which needs no step, and flat_engine_post(). */
inline post() {
    atomic {
        left--;
        last_task++;
        state_of[grant] = GRANT_POSTED;
        payload[grant] = last_task;
        task = last_task;
        advance();
        MAY_END
    }
    atomic { step_enter(); MAY_END }
#ifndef FAULT_PUBLISHED_FIRST
    atomic {
        if
        :: write_descriptor(task, grant, false, false, 0)
        :: write_descriptor(task, grant, false, true, 0)
        fi;
        MAY_END
    }
#endif
    atomic { step_count_posted(); MAY_END }
#ifdef FAULT_PUBLISHED_FIRST
    step_publish(place, of_lap);
    untaken[place] = false;
    write_descriptor(task, grant, false, false, 0);
#else
    atomic { step_publish(place, of_lap); MAY_END }
#endif
    atomic { step_leave_submit(); MAY_END }
}

#ifdef FAULT_CANCELLED_AGAIN
#define MAY_CANCEL(seen) true
#else
#define MAY_CANCEL(seen) (cancelled[grant] <= seen)
#endif

/* flat_engine_cancel(). */
inline cancel() {
    atomic {
        left_to_cancel--;
        found = true
    }
    do
    :: found -> recover(found)
    :: !found -> break
    od;
    atomic {
        step_read_taken(seen);
        if
        :: state_of[grant] != GRANT_POSTED || !MAY_CANCEL(seen) -> seen = 0; goto act
        :: else -> seen = 0; advance(); MAY_END
        fi
    }
#ifndef FAULT_CANCELS_WITHOUT_ENTERING
    atomic { step_enter(); MAY_END }
#endif
    atomic { write_descriptor(0, grant, true, false, payload[grant]); MAY_END }
    atomic { step_count_posted(); MAY_END }
    atomic { step_publish(place, of_lap); MAY_END }
    atomic {
        cancelled[grant] = posted;
#ifdef FAULT_CANCELLATION_TAKES_BACK
        take_back_grant(grant);
#endif
#ifndef FAULT_CANCELS_WITHOUT_ENTERING
        step_leave_submit();
#endif
        MAY_END
    }
}

/* reclaim_lanes() and flat_engine_clear_lane() of control.c, by a thread that found the lane abandoned. */
inline reclaim() {
    step_read_finished(task);
    atomic {
        step_read_taken(seen);
        place = seen % LENGTH;
        of_lap = seen / LENGTH + 1
    }
    atomic {
        step_look_at_descriptor(place, of_lap, found);
#ifdef FAULT_NEXT_NOT_LOOKED_AT
        found = false;
#endif
#ifndef FAULT_RECLAIM_DOES_NOT_WAIT
        if
        :: found || seen != task -> found = false; seen = 0; task = 0; goto reclaim_it
        :: else
        fi
#endif
    }
    step_read_taken(seen);
    atomic {
#ifndef FAULT_POSTED_KEPT
        step_renew_posted(seen);
#endif
#ifndef FAULT_PLACES_KEPT
        at = seen % LENGTH;
        its_lap = seen / LENGTH + 1;
        completed_at = complete_at;
        completed_parity = complete_parity;
        returned_at = return_at;
        returned_parity = return_parity;
#endif
        for (grant : 0 .. GRANTS - 1) {
            state_of[grant] = GRANT_LEFT;
            generation[grant] = record_generation[grant];
            cancelled[grant] = 0
        }
        for (grant : 0 .. PLACES - 1) {
            unread_completion[grant] = false
        }
    }
    atomic {
        step_leave_submit();
        grant = 0;
        task = 0;
        seen = 0;
        place = 0;
        of_lap = 0
    }
}

/* Of a grant, whether it is left or posted. */
inline choose(state) {
    if
    :: state_of[0] == state -> grant = 0
#if GRANTS > 1
    :: state_of[1] == state -> grant = 1
#endif
    fi
}

#define HAS(state) (state_of[0] == state || state_of[GRANTS - 1] == state)

proctype owner(byte me) {
    byte left = TASKS, left_to_cancel = CANCELS, grant, task, place, of_lap, entry, seen;
    bool found;
    if
    :: me == 1 -> has_gone
    :: me == 0 -> goto act
    fi;
reclaim_it:
    reclaim();
act:
    atomic {
        grant = 0;
        task = 0;
        place = 0;
        of_lap = 0;
        found = false;
        if
        :: left > 0 && HAS(GRANT_LEFT) -> choose(GRANT_LEFT)
        :: left_to_cancel > 0 && HAS(GRANT_POSTED) -> choose(GRANT_POSTED); goto act_cancel
        :: PARITY_OF(returned[returned_at]) == returned_parity -> goto act_recover
        :: PARITY_OF(completed[completed_at]) == completed_parity -> goto act_poll
        :: left == 0 || me == 0 -> goto ended
        fi
    }
    post();
    goto act;
act_cancel:
    cancel();
    goto act;
act_recover:
    recover(found);
    goto act;
act_poll:
    poll();
    goto act;
ended:
    has_gone = true
}

/* ---- The worker ---- */

/* flat_engine_finish() of worker.c. */
inline give_back(grant) {
    if
    :: record_wants[grant] ->
       step_complete(grant);
       go_on(complete_at, complete_parity, PLACES);
#ifdef FAULT_FREE_AT_COMPLETION
       take_back_grant(grant)
#endif
    :: else ->
       step_give_back(grant);
       go_on(return_at, return_parity, GRANTS)
    fi
}

inline finish(grant) {
#ifdef FAULT_FINISHED_FIRST
    step_count_finished();
#endif
    atomic {
        record_generation[grant]++;
#ifndef FAULT_GIVEN_BACK_FIRST
        give_back(grant);
#endif
    }
#ifndef FAULT_FINISHED_FIRST
    step_count_finished();
#endif
}

/* run_task() of worker.c: from when it begins until it ends. */
inline run_task(grant) {
    atomic {
        is_waiting[grant] = false;
        PROMISE(a_task_is_run_once_with_its_payload,
                fate[record_task[grant]] == ACCEPTED && payload[grant] == record_task[grant]);
        fate[record_task[grant]] = BEGUN;
#ifdef FAULT_GIVEN_BACK_FIRST
        give_back(grant)
#endif
    }
    atomic {
        PROMISE(a_task_is_run_once_with_its_payload, payload[grant] == record_task[grant]);
        fate[record_task[grant]] = DONE
    }
    finish(grant)
}

#ifdef FAULT_RUNNING_TASK_CANCELLED
#define IS_MEANT true
#else
#define IS_MEANT (is_waiting[grant] && record_generation[grant] == generation_at[in_at])
#endif

/* take_in_lane() of worker.c, of one descriptor. */
inline take_in() {
    atomic {
        step_look_at_descriptor(in_at, in_lap, found);
        if
        :: !found -> goto work
        :: else
        fi
    }
    atomic {
        grant = grant_at[in_at];
        cancels = cancels_at[in_at];
        untaken[in_at] = false;
        if
        :: cancels -> found = IS_MEANT
        :: else ->
           record_task[grant] = task_at[in_at];
           record_wants[grant] = wants_at[in_at];
           is_waiting[grant] = true;
           found = false
        fi
    }
    if
    :: found ->
       atomic {
           PROMISE(a_task_is_cancelled_only_before_it_begins,
                   record_task[grant] == meant_at[in_at] && fate[meant_at[in_at]] == ACCEPTED);
           is_waiting[grant] = false;
           fate[record_task[grant]] = DONE
       }
       finish(grant)
    :: else
    fi;
    atomic {
        in_at++;
        if
        :: in_at == LENGTH -> in_at = 0; in_lap++
        :: else
        fi;
        step_count_taken()
    }
    if
    :: cancels -> step_count_finished()
    :: else
    fi
}

proctype worker() {
    byte grant;
    bool found, cancels;
work:
    atomic { grant = 0; found = false; cancels = false }
end:
    if
    :: lap[in_at] == in_lap -> take_in()
    :: is_waiting[0] -> grant = 0; run_task(grant)
#if GRANTS > 1
    :: is_waiting[1] -> grant = 1; run_task(grant)
#endif
    fi;
    goto work
}

/* When nothing moves any more: what is there is taken back, and then every grant is left. Where the last owner has
 * ended or stopped, a drain makes the lane as new if that was in a submit. */
active proctype last_look() {
    byte i, entry, grants;
    bool found = true;
    timeout;
    d_step {
        for (i : 1 .. ALL_TASKS) {
            PROMISE(no_task_is_lost, fate[i] == UNKNOWN || fate[i] == DONE)
        }
        if
        :: entered -> posted = count_taken
        :: else
        fi;
        PROMISE(a_drain_ends_when_all_is_done, posted == finished)
    }
#if !defined(ENDS) || OWNERS > 1
    do
    :: found -> recover(found)
    :: !found -> break
    od;
    for (i : 1 .. GRANTS) {
        poll()
    }
    atomic {
        for (i : 0 .. GRANTS - 1) {
            grants = grants + (state_of[i] == GRANT_LEFT)
        }
        PROMISE(no_grant_is_lost, grants == GRANTS)
    }
#endif
}

init {
    atomic {
        run worker();
        run owner(0)
#if OWNERS > 1
        ; run owner(1)
#endif
    }
}
