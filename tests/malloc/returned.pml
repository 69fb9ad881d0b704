/* How small blocks are freed and come home, for spin: what src/malloc/usual.h, home.c and returned.c do, by an owner and
 * FREEING other threads in every order their steps can come in. Each access to a state or a mark is one indivisible step,
 * under the name that it has in the code where it has one. Whatever else the code does concerns one thread alone, and goes
 * with the step beside it.
 *
 * The tree is that of the malloc with narrower words: two blocks to a page, NODE_BITS marks to a word above, LEVELS words
 * on the way from a page to the top. Nothing in the protocol depends on a width. The steps are taken to be seen by all
 * threads in one order. What has no such order in the code are the loads and stores of a block's state: of these a thread
 * may see its own store before others do, which takes part in two frees of one block at the same time only.
 *
 *   FREEING, FREES   threads beside the owner, and how many blocks each may free
 *   CALLS            calls of the owner: each frees a block, takes back what one mark leads to, or, with ALLOCS, allocates
 *   ALLOCS           the owner and the other threads hand blocks out again, the others what they have just freed
 *   MISUSE           any thread may free any block at any time, also twice; otherwise each held block at most once. A
 *                    free that is so late that the block has been handed out again is one of the new holder's
 *   STOPPABLE        a thread can stop for ever while it sends a block home; then what it holds back is bounded
 *   BOUND_LESS       taken off that bound, to show that it is reached
 *
 * Errors that one could make, put in on purpose; CMakeLists.txt has the promise that each breaks:
 *
 *   FAULT_RETURNED_BY_LOOK_AND_STORE  a block is sent home by a look and a store
 *   FAULT_TAKEN_BY_LOOK_AND_STORE     the owner takes it by a look and a store
 *   FAULT_MARK_BY_LOOK_AND_STORE      setting a mark is two steps
 *   FAULT_STOPS_AT_THE_PAGE           the mark above the page's is never set
 *   FAULT_MARKED_FIRST                the marks are set before the block's state
 *   FAULT_MARK_TAKEN_LATE             the owner takes the page's blocks first and its mark afterwards
 *   FAULT_STATE_NOT_LOOKED_AT         what is handed out is not looked at: somebody may hold it
 *   FAULT_LIVE_NOT_LOOKED_AT          a free does not look whether a caller holds the block */
#ifndef LEVELS
#define LEVELS 1
#endif
#ifndef FREEING
#define FREEING 2
#endif
#ifndef FREES
#define FREES 2
#endif
#ifndef CALLS
#define CALLS 3
#endif
#ifndef BOUND_LESS
#define BOUND_LESS 0
#endif

#define PAGE_BLOCKS 2
#define NODE_BITS 2
#if LEVELS == 1
#define NODES 1
#define PAGES NODE_BITS
#define HELD_BACK 1
#else
#define NODES NODE_BITS
#define PAGES (NODES * NODE_BITS)
#define HELD_BACK PAGE_BLOCKS
#endif
#define BLOCKS (PAGES * PAGE_BLOCKS)
#ifndef FREED
#define FREED BLOCKS /* blocks below it are ever freed */
#endif

#define PAGE_OF(block) ((block) / PAGE_BLOCKS)
#define BIT(number, width) (1 << (number) % (width))
#define IS_SET(word, number, width) (((word) >> (number) % (width) & 1) != 0)

/* What is promised: its name, never set, is there for pan to print. */
hidden byte a_block_has_one_holder,
    a_free_takes_effect,
    a_second_free_is_refused,
    nothing_right_is_told,
    no_block_is_free_twice,
    no_block_is_lost,
    what_is_held_back_is_bounded;
#define PROMISE(name, condition) assert((condition) || name)

/* States of a block. */
#define NO_BLOCK 0
#define LIVE 1
#define RETURNED 2
byte state[BLOCKS], page_marks[NODES], chunk_marks;

/* The owner's alone. */
bool is_free[BLOCKS];
byte taken_pages, at_node, taken_nodes;

/* Known to the model alone. */
byte holders[BLOCKS];
bool was_freed[BLOCKS]; /* one of them has ended */
byte handing_out[BLOCKS]; /* threads that are about to */
bool crowded[BLOCKS];     /* more than one, at once */
byte told;             /* second frees that were found */
byte finished, halted;

/* ---- Steps on a block's state ---- */

inline look_at_state(block, seen) {
    d_step { seen = state[block] }
}

inline store_state(block, to) {
    d_step { state[block] = to }
}

#ifdef FAULT_RETURNED_BY_LOOK_AND_STORE
inline step_return(block, done) {
    d_step { done = state[block] == NO_BLOCK }
    if
    :: done -> d_step { state[block] = RETURNED }
    :: else
    fi
}
#else
inline step_return(block, done) {
    d_step {
        done = state[block] == NO_BLOCK;
        if
        :: done -> state[block] = RETURNED
        :: else
        fi
    }
}
#endif

#ifdef FAULT_TAKEN_BY_LOOK_AND_STORE
inline step_take_returned(block, done) {
    d_step { done = state[block] == RETURNED }
    if
    :: done -> d_step { state[block] = NO_BLOCK }
    :: else
    fi
}
#else
inline step_take_returned(block, done) {
    d_step {
        done = state[block] == RETURNED;
        if
        :: done -> state[block] = NO_BLOCK
        :: else
        fi
    }
}
#endif

/* ---- Steps on a mark, as in returned.c ---- */

inline step_look_at_mark(word, number, seen) {
    d_step { seen = IS_SET(word, number, NODE_BITS) }
}

/* `first`: it was this one that set the mark. */
#ifdef FAULT_MARK_BY_LOOK_AND_STORE
inline step_mark(word, number, first) {
    byte before;
    d_step { before = word; first = !IS_SET(word, number, NODE_BITS) }
    d_step { word = before | BIT(number, NODE_BITS) }
}
#else
inline step_mark(word, number, first) {
    d_step {
        first = !IS_SET(word, number, NODE_BITS);
        word = word | BIT(number, NODE_BITS)
    }
}
#endif

inline step_look(word, seen) {
    d_step { seen = word }
}

inline step_take(word, into) {
    d_step { into = word; word = 0 }
}

/* ---- A free, until the block is at hand: release() of usual.h ---- */

inline choose_block(block) {
    block = 0;
    do
    :: block < FREED - 1 -> block++
    :: break
    od
}

#ifdef MISUSE
#define MAY_FREE(block) true
#else
#define MAY_FREE(block) (holders[block] != 0)
#endif

/* Without misuse a free must take effect. With it, one that begins when another has ended must not. */
inline begin_free(block) {
    atomic {
        choose_block(block);
        if
        :: MAY_FREE(block) ->
           chosen = true;
           second = was_freed[block]
#ifndef MISUSE
           ; holders[block] = 0
#endif
        :: else -> chosen = false
        fi
    }
}

inline free_to_hand(block) {
    begin_free(block);
    effect = false;
    if
    :: chosen ->
       look_at_state(block, seen);
#ifdef FAULT_LIVE_NOT_LOOKED_AT
       effect = true;
#else
       effect = (seen == LIVE);
#endif
       if
       :: effect ->
          atomic { store_state(block, NO_BLOCK); holders[block] = 0 }
       :: else
       fi;
       d_step {
#ifdef MISUSE
#ifndef ALLOCS /* where it is handed out again in between the second free is one of the new block */
           PROMISE(a_second_free_is_refused, !second || !effect);
#endif
           if
           :: effect -> was_freed[block] = true
           :: else
           fi
#else
           PROMISE(a_free_takes_effect, effect)
#endif
       }
    :: else
    fi
}

/* ---- Handing out what is at hand: allocate() of usual.h. Where the block is held it is dropped, and told. ---- */

inline hand_out(block) {
    d_step { handing_out[block]++; crowded[block] = crowded[block] || handing_out[block] > 1 }
    look_at_state(block, seen);
#ifdef FAULT_STATE_NOT_LOOKED_AT
    seen = NO_BLOCK;
#endif
    if
    :: seen == NO_BLOCK ->
       d_step {
           state[block] = LIVE;
           PROMISE(a_block_has_one_holder, holders[block] == 0 || crowded[block]);
           holders[block]++;
           was_freed[block] = false
       }
    :: else -> d_step { told++ }
    fi;
    d_step { handing_out[block]--; crowded[block] = crowded[block] && handing_out[block] != 0 }
}

/* ---- Sending home what is at hand: flat_send_home() of returned.c ---- */

#ifdef STOPPABLE
#define MAY_STOP if :: true :: d_step { halted++ } goto end fi
#else
#define MAY_STOP skip
#endif

inline mark_above(block) {
    step_look_at_mark(page_marks[PAGE_OF(block) / NODE_BITS], PAGE_OF(block), seen);
    if
    :: !seen ->
       step_mark(page_marks[PAGE_OF(block) / NODE_BITS], PAGE_OF(block), first);
#if LEVELS > 1 && !defined(FAULT_STOPS_AT_THE_PAGE)
       MAY_STOP;
       if
       :: first ->
          step_look_at_mark(chunk_marks, PAGE_OF(block) / NODE_BITS, seen);
          if
          :: !seen -> step_mark(chunk_marks, PAGE_OF(block) / NODE_BITS, first)
          :: else
          fi
       :: else
       fi
#endif
    :: else
    fi
}

inline send_home(block) {
    MAY_STOP;
#ifdef FAULT_MARKED_FIRST
    mark_above(block);
#endif
    step_return(block, done);
    if
    :: done ->
       MAY_STOP;
#ifndef FAULT_MARKED_FIRST
       mark_above(block)
#endif
    :: else -> d_step { told++ }
    fi
}

proctype freeing() {
    byte block, n, seen;
    bool chosen, effect, second, done, first;
    do
    :: n < FREES ->
       n++;
       free_to_hand(block);
       if
       :: effect ->
          if
          :: send_home(block)
#ifdef ALLOCS
          :: hand_out(block)
#endif
          fi
       :: else
       fi;
       d_step { block = 0; seen = 0; chosen = false; effect = false; second = false; done = false; first = false }
    :: break
    od;
end:
    finished++
}

/* ---- The owner ---- */

/* As flat_give_to_span(): in its place already it is told. */
inline put_in_place(block) {
    d_step {
        if
        :: is_free[block] -> told++
        :: else -> is_free[block] = true
        fi
    }
}

inline free_own(block) {
    free_to_hand(block);
    if
    :: effect -> put_in_place(block)
    :: else
    fi
}

inline allocate(block) {
    block = 0;
    do
    :: block < BLOCKS && !is_free[block] -> block++
    :: else -> break
    od;
    if
    :: block < BLOCKS ->
       d_step { is_free[block] = false }
       hand_out(block)
    :: else
    fi
}

inline take_back_block(block) {
    step_take_returned(block, done);
    if
    :: done -> put_in_place(block)
    :: else
    fi
}

/* The lowest mark of what was taken; nothing where a word is found empty. */
inline take_back(page) {
    if
    :: taken_pages == 0 ->
#if LEVELS > 1
       if
       :: taken_nodes == 0 ->
          step_look(chunk_marks, blocks);
          if
          :: blocks != 0 -> step_take(chunk_marks, taken_nodes)
          :: else
          fi
       :: else
       fi;
       if
       :: taken_nodes != 0 ->
          at_node = (taken_nodes % 2 == 0 -> 1 : 0);
          taken_nodes = taken_nodes & (taken_nodes - 1);
          step_take(page_marks[at_node], taken_pages)
       :: else
       fi
#elif defined(FAULT_MARK_TAKEN_LATE)
       step_look(page_marks[0], taken_pages)
#else
       step_look(page_marks[0], blocks);
       if
       :: blocks != 0 -> step_take(page_marks[0], taken_pages)
       :: else
       fi
#endif
    :: else
    fi;
    blocks = 0;
    if
    :: taken_pages != 0 ->
       page = at_node * NODE_BITS + (taken_pages % 2 == 0 -> 1 : 0);
       taken_pages = taken_pages & (taken_pages - 1);
       take_back_block(page * PAGE_BLOCKS);
       take_back_block(page * PAGE_BLOCKS + 1);
#ifdef FAULT_MARK_TAKEN_LATE
       d_step { page_marks[0] = page_marks[0] & ~BIT(page, NODE_BITS) }
#endif
    :: else
    fi;
    page = 0
}

inline count_lost() {
    d_step {
        n = 0;
        lost = 0;
        do
        :: n < BLOCKS ->
           if
           :: holders[n] == 0 && !is_free[n] -> lost++
           :: else
           fi;
           n++
        :: else -> break
        od
    }
}

proctype owner() {
    byte block, page, blocks, n, lost, seen;
    bool chosen, effect, second, done;
    do
    :: n < CALLS ->
       n++;
       if
       :: free_own(block)
       :: take_back(page)
#ifdef ALLOCS
       :: allocate(block)
#endif
       fi;
       d_step { block = 0; page = 0; seen = 0; chosen = false; effect = false; second = false;
                done = false }
    :: n == CALLS && finished == FREEING -> break
    od;
    /* What there is comes back. */
    n = 0;
    do
    :: n < 2 * BLOCKS -> n++; take_back(page)
    :: else -> break
    od;
    count_lost();
#ifdef STOPPABLE
    PROMISE(what_is_held_back_is_bounded, lost <= halted * (HELD_BACK - BOUND_LESS))
#elif !defined(MISUSE)
    PROMISE(no_block_is_lost, lost == 0);
    PROMISE(nothing_right_is_told, told == 0)
#endif
}

init {
    byte n;
    atomic {
        do
        :: n < BLOCKS -> state[n] = LIVE; holders[n] = 1; n++
        :: else -> break
        od;
        n = 0;
        do
        :: n < FREEING -> run freeing(); n++
        :: else -> break
        od;
        run owner()
    }
}
