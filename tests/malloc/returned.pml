/* The protocol of src/malloc/returned.c for spin: an owner and FREEING threads that free its blocks, in every order their
 * steps can come in. Each atomic operation is one indivisible step under the name that it has there. What the owner alone
 * writes, the bits that say which blocks are live, others read: each access is a step as well. Whatever else the code
 * does concerns one thread alone, and goes with the step beside it.
 *
 * The tree is that of the malloc with narrower words: two blocks to a page, NODE_BITS marks to a word above, LEVELS words
 * on the way from a page to the top. Nothing in the protocol depends on a width. The steps are taken to be seen by all
 * threads in one order, as sequentially consistent ones are.
 *
 *   FREEING, FREES   threads beside the owner, and how many blocks each may free
 *   CALLS            calls of the owner: each frees a block, takes back what one mark leads to, gives a page of free
 *                    blocks another use, or, with ALLOCS, allocates
 *   MISUSE           any thread may free any block at any time, also twice; otherwise each live block at most once. Not
 *                    together with ALLOCS: of a block that is handed out again nobody can tell whose free it is
 *   STOPPABLE        a thread can stop for ever inside a free; then what it holds back is bounded
 *   BOUND_LESS       taken off that bound, to show that it is reached
 *
 * Errors that one could make, put in on purpose; CMakeLists.txt has the promise that each breaks:
 *
 *   FAULT_CLAIM_BY_LOOK_AND_STORE  the claim is two steps
 *   FAULT_MARK_BY_LOOK_AND_STORE   setting a mark is
 *   FAULT_STOPS_AT_THE_PAGE        the mark above the page's is never set
 *   FAULT_TAG_NOT_MARKED           the page's tag does not say that a block was returned
 *   FAULT_TAG_UNMARKED_LATE        the owner takes the mark off the tag after it has taken the blocks
 *   FAULT_LIVE_NOT_LOOKED_AT       the owner takes all blocks that were returned for live ones
 *   FAULT_MARK_TAKEN_LATE          the owner takes the page's blocks first and its mark afterwards
 *   FAULT_RETURN_NOT_LOOKED_AT     the owner frees a block without a look at whether another has */
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
#define IS_RETURNED(block) IS_SET(returned[PAGE_OF(block)], block, PAGE_BLOCKS)

/* What is promised: its name, never set, is there for pan to print. */
hidden byte a_block_that_is_not_free_is_not_handed_out,
    a_free_takes_effect,
    a_second_free_is_refused_or_told,
    every_overlap_is_told,
    no_block_is_free_twice,
    no_block_is_lost,
    what_is_held_back_is_bounded;
#define PROMISE(name, condition) assert((condition) || name)

bool live[BLOCKS];
byte returned[PAGES], page_marks[NODES], chunk_marks;
bool tag_marked[PAGES];

/* The owner's alone. */
bool is_free[BLOCKS];
byte taken_pages, at_node, taken_nodes;

/* Known to the model alone. */
bool held[BLOCKS];         /* the program has the block */
bool has_returned[BLOCKS]; /* a free of it has, and took effect */
bool in_flight[BLOCKS];    /* the owner has taken its bit, and not made it dead yet */
byte overlaps, told;       /* second frees that took effect amid the owner's taking back; those that it has seen */
byte finished, halted;

/* ---- The steps of returned.c ---- */

#ifdef FAULT_CLAIM_BY_LOOK_AND_STORE
inline step_claim(block, mine) {
    byte saw;
    d_step { saw = returned[PAGE_OF(block)]; mine = !IS_RETURNED(block) }
    if
    :: mine -> d_step { returned[PAGE_OF(block)] = saw | BIT(block, PAGE_BLOCKS); count_overlap(block) }
    :: else
    fi
}
#else
inline step_claim(block, mine) {
    d_step {
        mine = !IS_RETURNED(block);
        if
        :: mine -> returned[PAGE_OF(block)] = returned[PAGE_OF(block)] | BIT(block, PAGE_BLOCKS); count_overlap(block)
        :: else
        fi
    }
}
#endif

inline count_overlap(block) {
    late = !live[block] || in_flight[block];
    if
    :: late -> overlaps++
    :: else
    fi
}

inline step_look_at_tag(page, seen) {
    d_step { seen = tag_marked[page] }
}

inline step_mark_tag(page) {
    d_step { tag_marked[page] = true }
}

inline step_unmark_tag(page) {
    d_step { tag_marked[page] = false }
}

inline step_look(word, seen) {
    d_step { seen = word }
}

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

inline step_take(word, into) {
    d_step { into = word; word = 0 }
}

/* ---- Whether a live block starts there: is_block() of malloc.c ---- */

inline look_at_block(block, right) {
    d_step { right = live[block] }
    if
    :: right ->
       step_look_at_tag(PAGE_OF(block), right);
       if
       :: right -> d_step { right = !IS_RETURNED(block) }
       :: else -> right = true
       fi
    :: else
    fi
}

/* ---- A free by another thread: flat_return() ---- */

#ifdef STOPPABLE
#define MAY_STOP if :: true :: d_step { halted++ } goto end fi
#else
#define MAY_STOP skip
#endif

inline mark_above(block) {
    step_look_at_tag(PAGE_OF(block), seen);
#ifndef FAULT_TAG_NOT_MARKED
    if
    :: !seen -> step_mark_tag(PAGE_OF(block))
    :: else
    fi;
#endif
    MAY_STOP;
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

/* Without misuse a free must take effect. With it, one that begins when another has returned must not, but for one that
 * is `late`: the owner was about to make the block dead, and then is told of this free. */
inline begin_free(block, second) {
    d_step {
        late = false;
        second = has_returned[block];
        held[block] = false
    }
}

inline end_free(block, effect, second) {
    d_step {
#ifdef MISUSE
        PROMISE(a_second_free_is_refused_or_told, !second || !effect || late);
        if
        :: effect -> has_returned[block] = true
        :: else
        fi
#else
        PROMISE(a_free_takes_effect, effect)
#endif
    }
}

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
#define MAY_FREE(block) held[block]
#endif

proctype freeing() {
    byte block, n;
    bool right, mine, seen, first, second, late;
    do
    :: n < FREES ->
       n++;
       atomic {
           choose_block(block);
           if
           :: MAY_FREE(block) -> begin_free(block, second)
           :: else -> goto next
           fi
       }
       look_at_block(block, right);
       mine = false;
       if
       :: right ->
          step_claim(block, mine);
          if
          :: mine -> MAY_STOP; mark_above(block)
          :: else
          fi
       :: else
       fi;
       end_free(block, mine, second);
next:  skip
    :: break
    od;
end:
    finished++
}

/* ---- The owner ---- */

inline free_own(block) {
    atomic {
        choose_block(block);
        if
        :: MAY_FREE(block) -> begin_free(block, second); right = true
        :: else -> right = false
        fi
    }
    if
    :: right ->
#ifdef FAULT_RETURN_NOT_LOOKED_AT
       d_step { right = live[block] }
#else
       look_at_block(block, right);
#endif
       if
       :: right ->
          d_step {
              live[block] = false;
              if
              :: IS_RETURNED(block) -> overlaps++
              :: else
              fi;
              PROMISE(no_block_is_free_twice, !is_free[block]);
              is_free[block] = true
          }
       :: else
       fi;
       end_free(block, right, second)
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
       d_step {
           is_free[block] = false;
           PROMISE(a_block_that_is_not_free_is_not_handed_out, !held[block] && !live[block]);
           live[block] = true;
           held[block] = true;
           has_returned[block] = false
       }
    :: else
    fi
}

/* Another use for a page all of whose blocks are free: its tag is written anew. */
inline use_page_anew(page) {
    page = 0;
    do
    :: page < PAGES - 1 -> page++
    :: break
    od;
    skip; /* spin takes no jump into a d_step */
    d_step {
        if
        :: is_free[page * PAGE_BLOCKS] && is_free[page * PAGE_BLOCKS + 1] -> tag_marked[page] = false
        :: else
        fi
    }
}

inline see_in_flight(block) {
    in_flight[block] = IS_SET(blocks, block, PAGE_BLOCKS)
}

inline bury(block) {
    if
    :: IS_SET(blocks, block, PAGE_BLOCKS) ->
       d_step {
           in_flight[block] = false;
#ifdef FAULT_LIVE_NOT_LOOKED_AT
           if
           :: true ->
#else
           if
           :: !live[block] -> told++
           :: else ->
#endif
              live[block] = false;
              PROMISE(no_block_is_free_twice, !is_free[block]);
              is_free[block] = true
           fi
       }
    :: else
    fi
}

inline take_back_page(page) {
#ifndef FAULT_TAG_UNMARKED_LATE
    step_unmark_tag(page);
#endif
    step_look(returned[page], blocks);
    if
    :: blocks != 0 ->
       atomic { step_take(returned[page], blocks); see_in_flight(page * PAGE_BLOCKS); see_in_flight(page * PAGE_BLOCKS + 1) }
       bury(page * PAGE_BLOCKS);
       bury(page * PAGE_BLOCKS + 1)
    :: else
    fi;
#ifdef FAULT_TAG_UNMARKED_LATE
    step_unmark_tag(page);
#endif
    blocks = 0
}

/* The lowest mark of what was taken; nothing where a word is found empty. */
inline take_back(page) {
    page = PAGES;
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
       take_back_page(page);
#ifdef FAULT_MARK_TAKEN_LATE
       d_step { page_marks[0] = page_marks[0] & ~BIT(page, NODE_BITS) }
#endif
       page = 0
    :: else
    fi
}

inline count_lost() {
    d_step {
        n = 0;
        lost = 0;
        do
        :: n < BLOCKS ->
           if
           :: !held[n] && !is_free[n] -> lost++
           :: else
           fi;
           n++
        :: else -> break
        od
    }
}

proctype owner() {
    byte block, page, blocks, n, lost;
    bool right, second, late;
    do
    :: n < CALLS ->
       n++;
       if
       :: free_own(block)
       :: take_back(page)
       :: use_page_anew(page)
#ifdef ALLOCS
       :: allocate(block)
#endif
       fi;
       block = 0; page = 0
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
#else
    PROMISE(no_block_is_lost, lost == 0);
    PROMISE(every_overlap_is_told, told == overlaps)
#endif
}

init {
    byte n;
    atomic {
        do
        :: n < BLOCKS -> live[n] = true; held[n] = true; n++
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
