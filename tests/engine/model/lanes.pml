/* How threads come to own lanes and lose them, for spin: flat_engine_register, flat_engine_unregister and
 * flat_engine_reclaim of src/engine/control.c, by THREADS threads and LANES lanes, in every order their steps can come
 * in. Each thread lives LIVES times: when it ends, another one can come that the system gives the same number. In a
 * life it registers a lane, or reclaims what it can; it uses its lane, and then unregisters it. It may end after each
 * step of that. It leaves tasks in flight or none. An owner's use of its lane is a read and a write of their own, which
 * another owner would spoil; lane.pml has what a lane is.
 *
 * Where WORKER is set, threads also take turns to be a worker of the caller's (flat_engine_step), which is the same
 * protocol with two states.
 *
 * Errors that one could make, put in on purpose; model.cmake has the promise that each breaks:
 *
 *   FAULT_MOVED_BY_LOOK_AND_STORE the state is changed by a look and a store
 *   FAULT_ATTENDS_BY_LOOK_AND_STORE with WORKER: a thread becomes the worker by a look and a store
 *   FAULT_RECLAIMED_FOR_ITS_OWNER a lane that is reclaimed says whose it was, and not who does that
 *   FAULT_RECLAIMING_IS_NEVER_LEFT a thread that ends while it reclaims leaves a lane that nobody looks at
 *   FAULT_NUMBER_ALONE            a thread is told by its number, which the system gives again
 *   FAULT_RECLAIM_DOES_NOT_WAIT   a lane with tasks in flight becomes free
 *   FAULT_OWNED_LANES_TAKEN       a lane that was left becomes another thread's without being made as new */
#ifndef LANES
#define LANES 1
#endif
#ifndef THREADS
#define THREADS 2
#endif
#ifndef LIVES
#define LIVES 2
#endif

/* What is promised. A promise stands where it must hold; its name, never set, is there for pan to print. */
hidden byte a_lane_has_one_owner,
    an_owner_finds_its_lane_as_it_left_it,
    a_free_lane_has_nothing_in_flight,
    a_lane_comes_back,
    a_worker_is_one_thread;
#define PROMISE(name, condition) assert((condition) || name)

/* As in engine.h: the state, and above it who took the lane. */
#define LANE_FREE 0
#define LANE_OWNED 1
#define LANE_LEFT 2
#define LANE_RECLAIMING 3
#define STATE_OF(word) ((word) & 3)
#define IN_STATE(word, state_of_it) ((word) - STATE_OF(word) + (state_of_it))
#define NUMBER_OF(word) (((word) >> 2) & 7)
#define LIFE_OF(word) ((word) >> 5)
#define TAKEN_BY_ME(state_of_it) (life[me] << 5 | me << 2 | (state_of_it))

byte state[LANES];
byte content[LANES]; /* what an owner writes */
bool in_flight[LANES];                        /* a task that the worker has not finished */
byte attended;

/* Known to the model alone. A thread's number is its own; a life of it is its start. */
byte life[THREADS + 1];   /* that runs now; 0: none */
byte owners[LANES];       /* who owns or reclaims */
byte uses[LANES];
byte attending;
byte over;                /* threads that live no more */

/* ---- The steps of steps.h ---- */

inline step_look_at_lane(word, seen) {
    d_step { seen = word }
}

inline step_set_lane(word, to) {
    d_step { word = to }
}

#ifdef FAULT_MOVED_BY_LOOK_AND_STORE
#define MOVING
inline step_move_lane(word, from, to, moved) {
    d_step { moved = (word == from) }
    if
    :: moved -> d_step { word = to }
    :: else
    fi
}
#else
#define MOVING atomic
inline step_move_lane(word, from, to, moved) {
    d_step {
        moved = (word == from);
        if
        :: moved -> word = to
        :: else
        fi
    }
}
#endif

inline step_leave_worker() {
    d_step { attended = 0 }
}

/* ---- control.c ---- */

/* flat_thread_has_ended(). */
#ifdef FAULT_NUMBER_ALONE
#define HAS_ENDED(word) (life[NUMBER_OF(word)] == 0)
#else
#define HAS_ENDED(word) (life[NUMBER_OF(word)] != LIFE_OF(word))
#endif
#ifdef FAULT_RECLAIMING_IS_NEVER_LEFT
#define HAS_A_THREAD(word) (STATE_OF(word) == LANE_OWNED)
#else
#define HAS_A_THREAD(word) (STATE_OF(word) == LANE_OWNED || STATE_OF(word) == LANE_RECLAIMING)
#endif

/* By a thread whose lane it is from here on: nobody else's. */
inline become_owner(number) {
    owners[number]++;
    mine = true;
    PROMISE(a_lane_has_one_owner, owners[number] == 1)
}

/* By a thread that gives its lane away in the same moment. */
inline leave_lane(number, to) {
    owners[number]--;
    mine = false;
    step_set_lane(state[number], to)
}

/* reclaim_lanes(): of a lane that this thread has taken. That nothing is in flight stays so, since nobody posts. Here
 * and there the thread ends. */
inline reclaim_lane(number, word) {
    if
#ifndef FAULT_RECLAIM_DOES_NOT_WAIT
    :: in_flight[number] -> atomic { leave_lane(number, IN_STATE(word, LANE_LEFT)) }
    :: !in_flight[number] ->
#else
    :: true ->
#endif
       content[number] = 0;
       if
       :: atomic {
              PROMISE(a_free_lane_has_nothing_in_flight, !in_flight[number]);
              leave_lane(number, IN_STATE(word, LANE_FREE))
          }
       :: may_end -> goto ends
       fi
    :: may_end -> goto ends
    fi
}

/* flat_engine_reclaim(), of one lane, with are_abandoned(). */
inline reclaim(number) {
    step_look_at_lane(state[number], seen);
    moved = (STATE_OF(seen) == LANE_LEFT || (HAS_A_THREAD(seen) && HAS_ENDED(seen)));
    if
    :: moved ->
#ifdef FAULT_RECLAIMED_FOR_ITS_OWNER
       taken = IN_STATE(seen, LANE_RECLAIMING);
#else
       taken = TAKEN_BY_ME(LANE_RECLAIMING);
#endif
       MOVING {
           step_move_lane(state[number], seen, taken, moved);
           if
           :: moved -> become_owner(number)
           :: else
           fi
       }
       if
       :: moved -> reclaim_lane(number, taken)
       :: else
       fi
    :: else
    fi;
    atomic { moved = false; seen = 0; taken = 0 }
}

#ifdef FAULT_OWNED_LANES_TAKEN
#define CAN_BE_TAKEN(word) (STATE_OF(word) == LANE_FREE || STATE_OF(word) == LANE_LEFT)
#else
#define CAN_BE_TAKEN(word) (STATE_OF(word) == LANE_FREE)
#endif

/* take_lanes(), of one lane. */
inline take(number) {
    step_look_at_lane(state[number], seen);
    if
    :: CAN_BE_TAKEN(seen) ->
       MOVING {
           step_move_lane(state[number], seen, TAKEN_BY_ME(LANE_OWNED), moved);
           if
           :: moved -> become_owner(number); uses[number] = 0
           :: else
           fi
       }
    :: else
    fi;
    seen = 0
}

/* flat_engine_unregister(). */
inline unregister(number) {
    step_look_at_lane(state[number], seen);
    taken = IN_STATE(seen, LANE_RECLAIMING);
    step_set_lane(state[number], taken);
    reclaim_lane(number, taken);
    atomic { seen = 0; taken = 0 }
}

inline use(number) {
    used = content[number];
    atomic {
        content[number] = used + 1;
        uses[number]++;
        PROMISE(an_owner_finds_its_lane_as_it_left_it, content[number] == uses[number]);
        used = 0;
        if
        :: in_flight[number] = true
        :: skip
        fi
    }
}

inline be_worker() {
#ifdef FAULT_ATTENDS_BY_LOOK_AND_STORE
    moved = (attended == 0);
    attended = 1;
#else
    step_move_lane(attended, 0, 1, moved);
#endif
    if
    :: moved ->
       attending++;
       atomic {
           PROMISE(a_worker_is_one_thread, attending == 1);
           attending--;
           step_leave_worker()
       }
    :: else
    fi;
    moved = false
}

/* The lane that it takes is any of them, and those that it reclaims are any. */
inline choose_lane() {
#if LANES == 1
    lane = 0
#else
    select(lane : 0 .. LANES - 1)
#endif
}

proctype thread(byte me) {
    byte lives, lane, used;
    byte seen, taken;
    bool moved, mine, may_end = true;
live:
    atomic {
        if
        :: lives == LIVES -> goto ended
        :: else -> lives++; life[me] = lives; choose_lane()
        fi
    }
    if
    :: reclaim(lane)
    :: take(lane);
       if
       :: moved ->
          moved = false;
          use(lane);
          if
          :: unregister(lane)
          :: skip /* it ends so */
          fi
       :: else
       fi
#ifdef WORKER
    :: be_worker()
#endif
    fi;
ends:
    atomic {
        owners[lane] = owners[lane] - mine;
        mine = false; moved = false; seen = 0; taken = 0; used = 0;
        life[me] = 0; lane = 0;
        goto live
    }
ended:
    over++
}

/* A worker finishes what is in flight. */
proctype worker() {
end:
    do
    :: in_flight[0] -> in_flight[0] = false
#if LANES > 1
    :: in_flight[1] -> in_flight[1] = false
#endif
    od
}

/* Once nobody lives and nothing is in flight, every lane can be reclaimed, though other threads have their numbers. */
active proctype last_look() {
    byte lane, me = THREADS;
    byte seen, taken;
    bool moved, mine, may_end;
    timeout;
    atomic {
        for (lane : 0 .. THREADS) {
            life[lane] = LIVES + 1
        }
        lane = 0
    }
    do
    :: lane < LANES ->
       reclaim(lane);
       PROMISE(a_lane_comes_back, STATE_OF(state[lane]) == LANE_FREE);
       lane++
    :: lane == LANES -> break
    od;
ends:
    skip
}

init {
    byte number;
    atomic {
        run worker();
        for (number : 0 .. THREADS - 1) {
            run thread(number)
        }
        number = 0
    }
}
