/* How threads sleep and are woken, for spin: src/engine/steps.h by a SLEEPER and TELLERS that tell it TELLS things
 * each, in every order their steps can come in. The sleeper is a worker, and a thing is a descriptor, or a state that
 * says that it is to stop; or it is a submitter, and a thing is a grant or a completion that comes back. The protocol
 * is the same.
 *
 * Each thread has a store buffer: what it stores is seen by the others later, in order, at any time. A fence empties
 * the thread's own; the system call membarrier empties each thread's, one after another. A teller that finds its buffer
 * full, with BUFFER stores, waits until one has gone. Nothing else that a processor does matters here: a thread's loads
 * are of words that only others write.
 *
 *   TELLERS, TELLS   how many tell, and how often each
 *   FENCED           each side has a fence of its own, and nobody calls membarrier
 *   STOPPABLE        one teller can stop for ever between any two of its steps; the others must be heard
 *
 * Errors that one could make, put in on purpose; model.cmake has the promise that each breaks:
 *
 *   FAULT_LOOKS_FIRST            the sleeper looks for things before it announces its sleep, and not after
 *   FAULT_NO_FENCE               the sleeper has no fence at all
 *   FAULT_NO_FENCE_OF_ALL        the sleeper has a fence of its own alone, and the tellers have none
 *   FAULT_NO_LIGHT_FENCE         with FENCED: a teller has none
 *   FAULT_WAKE_WITHOUT_A_MARK    a teller makes the system call and leaves the word as it is
 *   FAULT_MARK_BY_STORE          with STOPPABLE: a teller writes the word though the sleep that it saw may be over
 *   FAULT_ONE_WAKES              with STOPPABLE: a teller leaves the wake to another one that has begun it
 *   FAULT_EVERY_TELL_WAKES       a teller makes the system call for each thing that it tells
 *   FAULT_SLEEPS_WITHOUT_NUMBER  all sleeps have the same number */
#ifndef TELLERS
#define TELLERS 2
#endif
#ifndef TELLS
#define TELLS 2
#endif
#define BUFFER 2

#ifdef FENCED
#define IS_FENCED true
#else
#define IS_FENCED false
#endif

#ifdef STOPPABLE
#define MAY_STOP if :: me == 0 -> stopped[me] = true; goto ended :: skip fi
#else
#define MAY_STOP skip
#endif

/* What is promised. A promise stands where it must hold; its name, never set, is there for pan to print. */
hidden byte no_wake_up_is_lost, a_teller_wakes_once_from_each_sleep;
#define PROMISE(name, condition) assert((condition) || name)

/* Memory: the sleeper's word, and how much each teller has told. */
byte sleeping;
byte told[TELLERS];

/* The store buffers: of the sleeper what it stores to its word, of a teller how much it told that is not seen yet. */
chan buffered = [BUFFER] of { byte };
byte untold[TELLERS];

bool in_kernel; /* the sleeper is in the system's queue */

/* Known to the model alone. */
byte heard[TELLERS];
bool stopped[TELLERS];
byte called_for[TELLERS]; /* the last sleep for which the teller made the system call */

inline empty_buffer() {
    if
    :: nempty(buffered) -> buffered?sleeping
    :: empty(buffered)
    fi;
    if
    :: nempty(buffered) -> buffered?sleeping
    :: empty(buffered)
    fi
}

inline empty_buffer_of(teller) {
    told[teller] = told[teller] + untold[teller];
    untold[teller] = 0
}

/* What leaves the buffers by itself. */
proctype memory() {
    byte teller;
end:
    do
    :: buffered?sleeping
    :: atomic {
           untold[0] > 0 -> d_step { told[0]++; untold[0]-- }
       }
#if TELLERS > 1
    :: atomic {
           untold[1] > 0 -> d_step { told[1]++; untold[1]-- }
       }
#endif
#if TELLERS > 2
    :: atomic {
           untold[2] > 0 -> d_step { told[2]++; untold[2]-- }
       }
#endif
    od
}

/* ---- The steps of steps.h ---- */

inline step_announce_sleep(number) {
    d_step { buffered!number }
}

inline step_stay_awake() {
    d_step { buffered!0 }
}

inline step_full_fence() {
    d_step { empty_buffer() }
}

inline step_light_fence(teller) {
    d_step {
        if
        :: IS_FENCED -> empty_buffer_of(teller)
        :: else
        fi
    }
}

inline step_look_asleep(number) {
    d_step { number = sleeping }
}

#ifdef FAULT_MARK_BY_STORE
inline step_begin_wake(number) {
    d_step { sleeping = number + 1 }
}
#else
inline step_begin_wake(number) {
    d_step {
        if
        :: sleeping == number -> sleeping = number + 1
        :: else
        fi
    }
}
#endif

/* ---- The system calls of src/os/thread.c ---- */

inline fence_all() {
    step_full_fence();
    do
    :: d_step { i < TELLERS -> empty_buffer_of(i); i++ }
    :: atomic { i == TELLERS -> i = 0; break }
    od
}

/* flat_sleep_while(): entering the kernel empties the buffer, and the look at the word and the sleep are one step. */
inline sleep_while(number) {
    d_step {
        empty_buffer();
        in_kernel = (sleeping == number)
    }
end_asleep:
    !in_kernel
}

inline wake_sleepers() {
    in_kernel = false
}

/* ---- The sleeper: sleep_worker() of worker.c, sleep_until_returned() of submit.c ---- */

/* Looks at one teller after another, as has_mail() does; what is found is taken. */
inline look(found) {
    do
    :: d_step { i < TELLERS -> found = found || heard[i] < told[i]; heard[i] = told[i]; i++ }
    :: atomic { i == TELLERS -> i = 0; break }
    od
}

inline fence_both() {
#ifdef FAULT_NO_FENCE
    skip
#elif defined(FENCED) || defined(FAULT_NO_FENCE_OF_ALL)
    step_full_fence()
#else
    fence_all()
#endif
}

#ifdef FAULT_SLEEPS_WITHOUT_NUMBER
#define NEXT_SLEEP 1
#else
#define NEXT_SLEEP number + 2
#endif

/* A store waits until there is room in the buffer. */
proctype sleeper() {
    byte number = 255, i;
    bool found;
    do
    :: look(found);
       if
       :: d_step { found -> found = false }
       :: atomic { !found && nfull(buffered) -> number = NEXT_SLEEP; step_announce_sleep(number) }
          fence_both();
#ifndef FAULT_LOOKS_FIRST
          look(found);
#endif
          if
          :: found
          :: !found -> sleep_while(number)
          fi;
          atomic { nfull(buffered) -> step_stay_awake(); found = false }
       fi
    od
}

/* ---- A teller: end_submit() of submit_steps.h, flat_engine_finish() of worker.c ---- */

#ifdef FAULT_ONE_WAKES
#define NEED_NOT_WAKE (seen == 0 || seen == begun || begun == woken)
#elif defined(FAULT_EVERY_TELL_WAKES)
#define NEED_NOT_WAKE (seen == 0)
#else
#define NEED_NOT_WAKE (begun == 0 || begun == woken)
#endif

proctype teller(byte me) {
    byte left = TELLS, seen, begun, woken;
tell:
    atomic {
        untold[me] < BUFFER;
        if
        :: left == 0 -> goto ended
        :: else -> untold[me]++; left--
        fi;
        MAY_STOP
    }
#ifndef FAULT_NO_LIGHT_FENCE
    atomic { step_light_fence(me); MAY_STOP }
#endif
    atomic {
        step_look_asleep(seen);
        if
        :: seen == 0 -> goto tell
        :: else -> MAY_STOP
        fi
    }
    /* flat_engine_wake() of submit.c */
    atomic {
        step_look_asleep(seen);
        begun = seen + (seen & 1);
        if
        :: NEED_NOT_WAKE -> seen = 0; begun = 0; goto tell
        :: else -> MAY_STOP
        fi
    }
#ifndef FAULT_WAKE_WITHOUT_A_MARK
    atomic {
        if
        :: begun != seen -> step_begin_wake(seen); MAY_STOP
        :: else
        fi
    }
#endif
    d_step {
#ifndef FAULT_SLEEPS_WITHOUT_NUMBER
        PROMISE(a_teller_wakes_once_from_each_sleep, called_for[me] != begun);
#endif
        called_for[me] = begun;
        wake_sleepers();
        woken = begun;
        seen = 0;
        begun = 0
    }
    goto tell;
ended:
    skip
}

/* When nothing moves any more, everything was heard. */
active proctype last_look() {
    byte i;
    timeout;
    d_step {
        for (i : 0 .. TELLERS - 1) {
            PROMISE(no_wake_up_is_lost, stopped[i] || heard[i] == TELLS)
        }
    }
}

init {
    byte number;
    atomic {
        run memory();
        run sleeper();
        number = 0;
        do
        :: number < TELLERS -> run teller(number); number++
        :: else -> break
        od;
        number = 0
    }
}
