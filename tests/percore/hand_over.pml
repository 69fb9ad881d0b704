/* The protocol of src/core/hand_over.h for spin: an owner and FREEING threads that free, in every order their steps can
 * come in. Each atomic operation of the protocol is one indivisible step under the name it has there; what the owner
 * reads and writes plainly, the words of blocks, are steps of their own, so that a free by another thread can fall
 * between them. Whatever else the code does concerns one thread alone, and goes with the step beside it.
 *
 * The tree is that of the library with narrower words: LEAF_BLOCKS blocks to a leaf, NODE_BITS marks to a word above,
 * TOP_NODES words at the top, LEVELS levels. Nothing in the protocol depends on a width, except that a place in a leaf
 * holds PLACE_BITS bits. The steps are taken to be seen by all threads in one order: what the memory orders in
 * hand_over.h have to bring about is argued there and not shown here.
 *
 *   FREEING, FREES    threads beside the owner, and how many blocks each may free
 *   CALLS             calls of the owner, each an alloc, a local free or a drain of one block
 *   HANDED_OUT        blocks that are live at first; the others were never handed out
 *   FREED             a bit for each block that is ever freed: fewer, where the tree has more than can be searched
 *   MISUSE            any thread may free any block at any time, also twice; otherwise each block that is live is
 *                     freed at most once, by any thread
 *   STOPPABLE         a thread can stop for ever inside a free; then what it holds back is bounded, and nobody waits
 *   BOUND_LESS        taken off the bound of what is held back, to show that the bound is reached
 *
 * Each thread that frees may end earlier. When all have, the owner drains what there is.
 *
 * Errors that one could make, put in on purpose; CMakeLists.txt has the promise that each breaks:
 *
 *   FAULT_BRANCH_BEFORE_LEAF          the mark is set before the block is in the leaf
 *   FAULT_EMPTINESS_BY_A_LOOK         whether the leaf is empty is looked at before the addition, and not told by it
 *   FAULT_EVERYONE_MARKS              each thread sets the mark, whether or not the leaf was empty
 *   FAULT_TOP_READ_BUT_NOT_TAKEN      the owner takes the leaf first and clears its mark afterwards
 *   FAULT_TAKES_ANEW                  the owner takes from the top before it has used up what it took
 *   FAULT_WAITS_FOR_THE_MARK          a free returns only when the leaf's mark, another thread's to set, is set
 *   FAULT_CLAIM_EXCHANGES             the claim writes the word also where the block is free
 *   FAULT_CLAIM_BY_LOOK_AND_STORE     the claim is two steps
 *   FAULT_ANY_MARKED_BLOCK_COLLECTED  the owner does not look at the word of what it collects
 *   FAULT_PLACES_OF_ONE_BIT           a block that is marked twice carries into its neighbour */
#ifndef LEVELS
#define LEVELS 2
#endif
#ifndef TOP_NODES
#define TOP_NODES 1
#endif
#ifndef FREEING
#define FREEING 2
#endif
#ifndef FREES
#define FREES 2
#endif
#ifndef CALLS
#define CALLS 2
#endif
#ifndef FREED
#define FREED 255
#endif
#ifndef BOUND_LESS
#define BOUND_LESS 0
#endif

#define LEAF_BLOCKS 2
#define NODE_BITS 2
#ifdef FAULT_PLACES_OF_ONE_BIT
#define PLACE_BITS 1
#else
#define PLACE_BITS 2
#endif
#define PLACE_MASK ((1 << PLACE_BITS) - 1)
#define FULL_LEAF ((1 << LEAF_BLOCKS * PLACE_BITS) - 1)
#define FULL_NODE ((1 << NODE_BITS) - 1)

/* How many words each level has, what the highest is called, and what one stopped thread can hold back. */
#if LEVELS == 1
#define TRUNKS 1
#define BRANCHES 1
#define LEAVES TOP_NODES
#define top leaf
#define HELD_BACK 1
#elif LEVELS == 2
#define TRUNKS 1
#define BRANCHES TOP_NODES
#define LEAVES (BRANCHES * NODE_BITS)
#define top branch
#define HELD_BACK LEAF_BLOCKS
#else
#define TRUNKS TOP_NODES
#define BRANCHES (TRUNKS * NODE_BITS)
#define LEAVES (BRANCHES * NODE_BITS)
#define top trunk
#define HELD_BACK (LEAF_BLOCKS * NODE_BITS)
#endif
#define BLOCKS (LEAVES * LEAF_BLOCKS)
#ifndef HANDED_OUT
#define HANDED_OUT BLOCKS
#endif

/* The word of a block holds the number of the next in the owner's list, or one of these; of one that was never handed
 * out, LAST. */
#define LAST 252
#define LIVE 253
#define CLAIMED 254
#define NO_BLOCK 255

/* What is promised. A promise stands where it must hold; its name, never set, is there for pan to print. */
hidden byte a_block_is_marked_once,
    a_free_is_refused_iff_the_block_is_not_live,
    a_late_double_free_is_counted_once,
    a_mark_is_set_once_before_it_is_taken,
    no_block_is_given_twice,
    no_block_is_lost,
    of_two_frees_one_takes_effect,
    the_list_leads_to_free_blocks,
    what_a_mark_leads_to_is_not_empty,
    what_is_in_sight_is_found,
    what_is_parked_is_bounded;
#define PROMISE(name, condition) assert((condition) || name)

byte word[BLOCKS];
byte leaf[LEAVES];
byte branch[BRANCHES];
byte trunk[TRUNKS];

/* Known to the model alone. */
bool held[BLOCKS]; /* the program has the block: handed out, and no free of it took effect */
byte inside;       /* threads that have claimed a block, and whose free has not returned */
byte finished;     /* threads that are done, or stopped for ever */
byte overlaps;     /* pairs of a local and a remote free of one block that both took effect */

/* ---- The steps of hand_over.h ---- */

#ifdef FAULT_CLAIM_EXCHANGES
inline step_claim(block, mine) {
    d_step {
        mine = (word[block] == LIVE);
        word[block] = CLAIMED;
        if
        :: mine -> held[block] = false; inside++
        :: else
        fi
    }
}
#else
inline step_claim(block, mine) {
    d_step {
        mine = (word[block] == LIVE);
        PROMISE(a_free_is_refused_iff_the_block_is_not_live, mine == held[block]);
        if
        :: mine -> word[block] = CLAIMED; held[block] = false; inside++
        :: else
        fi
    }
}
#endif

inline step_add_to_leaf(number, places, due) {
    d_step {
#ifndef MISUSE
        PROMISE(a_block_is_marked_once, (leaf[number] & (PLACE_MASK * places)) == 0);
#endif
        due = (leaf[number] == 0 && LEVELS > 1);
        leaf[number] = (leaf[number] + places) & FULL_LEAF;
        if
        :: due
        :: else -> inside--
        fi
    }
}

inline step_add_to_branch(number, mark, due) {
    d_step {
        PROMISE(a_mark_is_set_once_before_it_is_taken, (branch[number] & mark) == 0);
        due = (branch[number] == 0 && LEVELS > 2);
        branch[number] = (branch[number] + mark) & FULL_NODE;
        if
        :: due
        :: else -> inside--
        fi
    }
}

inline step_add_to_trunk(number, mark) {
    d_step {
        PROMISE(a_mark_is_set_once_before_it_is_taken, (trunk[number] & mark) == 0);
        trunk[number] = (trunk[number] + mark) & FULL_NODE;
        inside--
    }
}

inline step_look_at_top(number, something) {
    d_step { something = (top[number] != 0) }
}

inline step_take_top(number, marks) {
    d_step {
        marks = top[number];
        top[number] = 0
    }
}

inline step_take_branch(number, marks) {
    d_step {
        marks = branch[number];
        branch[number] = 0;
        PROMISE(what_a_mark_leads_to_is_not_empty, marks != 0)
    }
}

inline step_take_leaf(number, places) {
    d_step {
        places = leaf[number];
        leaf[number] = 0;
        PROMISE(what_a_mark_leads_to_is_not_empty, places != 0)
    }
}

/* ---- A thread that frees ---- */

#define LEAF_OF(block) ((block) / LEAF_BLOCKS)
#define BRANCH_OF(block) (LEAF_OF(block) / NODE_BITS)
#define TRUNK_OF(block) (BRANCH_OF(block) / NODE_BITS)
#define PLACE_OF(block) (1 << (block) % LEAF_BLOCKS * PLACE_BITS)
#define MARK_OF(number) (1 << (number) % NODE_BITS)
#define HAS_PLACE(places, block) (((places) & (PLACE_MASK * PLACE_OF(block))) != 0)
#define HAS_MARK(marks, number) (((marks) & MARK_OF(number)) != 0)

#ifdef STOPPABLE
#define MAY_STOP if :: goto ended :: skip fi
#else
#define MAY_STOP skip
#endif

#define IS_FREED(block) ((FREED & 1 << (block)) != 0)
#ifdef MISUSE
#define MAY_FREE(block) IS_FREED(block)
#else
#define MAY_FREE(block) (IS_FREED(block) && held[block])
#endif

#ifdef FAULT_WAITS_FOR_THE_MARK
#define RETURN_ONCE_MARKED goto wait
#else
#define RETURN_ONCE_MARKED goto returned
#endif

/* mark() of percore.c. */
#ifdef FAULT_BRANCH_BEFORE_LEAF
inline mark(block, due) {
    due = (leaf[LEAF_OF(block)] == 0);
    if
    :: due -> step_add_to_branch(BRANCH_OF(block), MARK_OF(LEAF_OF(block)), due); inside++
    :: else
    fi;
    step_add_to_leaf(LEAF_OF(block), PLACE_OF(block), due)
}
#else
inline mark(block, due) {
    atomic {
#ifdef FAULT_EMPTINESS_BY_A_LOOK
        d_step { due = (leaf[LEAF_OF(block)] == 0) }
    }
    atomic {
        d_step {
            leaf[LEAF_OF(block)] = leaf[LEAF_OF(block)] + PLACE_OF(block);
            if
            :: due
            :: else -> inside--
            fi
        }
#else
        step_add_to_leaf(LEAF_OF(block), PLACE_OF(block), due);
#endif
#ifdef FAULT_EVERYONE_MARKS
        if
        :: due
        :: else -> due = true; inside++
        fi;
#endif
        if
        :: due -> MAY_STOP
        :: else -> RETURN_ONCE_MARKED
        fi
    }
    atomic {
        step_add_to_branch(BRANCH_OF(block), MARK_OF(LEAF_OF(block)), due);
        if
        :: due -> MAY_STOP
        :: else -> goto returned
        fi
    }
    step_add_to_trunk(TRUNK_OF(block), MARK_OF(BRANCH_OF(block)))
}
#endif

proctype freeing() {
    byte block, left = FREES;
    bool due;
free:
    atomic {
        select(block : 0 .. BLOCKS - 1);
        if
        :: left == 0 || !MAY_FREE(block) -> goto ended
        :: else -> left--
        fi;
#ifdef FAULT_CLAIM_BY_LOOK_AND_STORE
        due = (word[block] == LIVE)
    }
    atomic {
        PROMISE(of_two_frees_one_takes_effect, !due || held[block]);
        if
        :: due -> word[block] = CLAIMED; held[block] = false; inside++
        :: else
        fi;
#else
        step_claim(block, due);
#endif
        if
        :: due -> MAY_STOP
        :: else -> goto returned
        fi
    }
    mark(block, due);
returned:
    goto free;
#ifdef FAULT_WAITS_FOR_THE_MARK
wait:
    if
    :: leaf[LEAF_OF(block)] == 0 || HAS_MARK(branch[BRANCH_OF(block)], LEAF_OF(block)) -> goto returned
    :: else -> goto wait
    fi;
#endif
ended:
    finished++
}

/* ---- The owner ---- */

/* Whether the owner has the mark, among what it took of word `at[level]`. */
#define TOOK_MARK(level, word_number, number) (at[level] == (word_number) && HAS_MARK(taken[level], number))

/* Whether the owner comes to the block by what it has taken and what is marked in the top. */
#define BRANCH_IN_SIGHT(block)                                                                                         \
    (LEVELS == 2 || TOOK_MARK(2, TRUNK_OF(block), BRANCH_OF(block)) ||                                                 \
     HAS_MARK(trunk[TRUNK_OF(block)], BRANCH_OF(block)))
#define LEAF_IN_SIGHT(block)                                                                                           \
    (LEVELS == 1 || TOOK_MARK(1, BRANCH_OF(block), LEAF_OF(block)) ||                                                  \
     HAS_MARK(branch[BRANCH_OF(block)], LEAF_OF(block)) && BRANCH_IN_SIGHT(block))
#define IN_SIGHT(block)                                                                                                \
    (at[0] == LEAF_OF(block) && HAS_PLACE(taken[0], block) ||                                                          \
     HAS_PLACE(leaf[LEAF_OF(block)], block) && LEAF_IN_SIGHT(block))

/* How many blocks are claimed and out of the owner's sight, and whether others are in it. */
inline look_round() {
    i = 0; parked = 0; is_some_in_sight = false;
    do
    :: i == BLOCKS -> break
    :: else ->
        if
        :: word[i] == CLAIMED && IN_SIGHT(i) -> is_some_in_sight = true
        :: word[i] == CLAIMED && !IN_SIGHT(i) -> parked++
        :: else
        fi;
        i++
    od;
    i = 0
}

/* In every run, so also where no thread that is inside of a free goes on. */
inline look_at_parked() {
    PROMISE(no_block_is_lost, parked == 0 || inside > 0);
    PROMISE(what_is_parked_is_bounded, parked == 0 || parked <= inside * HELD_BACK - BOUND_LESS)
}

inline read_word(block, value) {
    d_step { value = word[block] }
}

/* The word of a block that is handed out. */
inline write_live(block) {
    d_step {
        PROMISE(no_block_is_given_twice, !held[block]);
        word[block] = LIVE;
        held[block] = true
    }
}

inline use_lowest(marks, lowest) {
    lowest = 0;
    do
    :: marks & (1 << lowest) -> break
    :: else -> lowest++
    od;
    marks = marks & (marks - 1)
}

inline take_from_top() {
    i = 0;
    do
    :: i < TOP_NODES ->
        atomic {
            step_look_at_top(i, is_something);
            if
            :: is_something -> break
            :: else -> i++
            fi
        }
    :: else -> break
    od;
    if
    :: i < TOP_NODES ->
        atomic {
            at[LEVELS - 1] = i;
#ifdef FAULT_TOP_READ_BUT_NOT_TAKEN
            taken[LEVELS - 1] = top[i];
#else
            step_take_top(i, taken[LEVELS - 1]);
#endif
            i = 0
        }
    :: else -> i = 0
    fi
}

inline refill() {
    if
    :: taken[1] == 0 ->
        if
        :: taken[2] == 0 -> take_from_top()
        :: else
        fi;
        if
        :: taken[2] != 0 ->
            atomic {
                use_lowest(taken[2], i);
                at[1] = at[2] * NODE_BITS + i;
                i = 0;
                step_take_branch(at[1], taken[1])
            }
        :: else
        fi
#ifdef FAULT_TAKES_ANEW
    :: else -> take_from_top()
#else
    :: else
#endif
    fi;
    if
    :: taken[1] != 0 ->
        atomic {
            use_lowest(taken[1], i);
            at[0] = at[1] * NODE_BITS + i;
            i = 0;
            step_take_leaf(at[0], taken[0])
        }
#ifdef FAULT_TOP_READ_BUT_NOT_TAKEN
        d_step {
            branch[at[1]] = branch[at[1]] & ~MARK_OF(at[0])
        }
#endif
    :: else
    fi
}

#ifdef FAULT_ANY_MARKED_BLOCK_COLLECTED
#define IS_COLLECTED(word) true
#else
#define IS_COLLECTED(word) (word == CLAIMED)
#endif

inline collect() {
    index = NO_BLOCK;
    if
    :: taken[0] == 0 -> refill()
    :: else
    fi;
    if
    :: taken[0] != 0 ->
        atomic {
            i = 0;
            do
            :: HAS_PLACE(taken[0], i) -> break
            :: else -> i++
            od;
            merged = merged + (taken[0] >> i * PLACE_BITS & PLACE_MASK) - 1;
            taken[0] = taken[0] & ~(PLACE_MASK * PLACE_OF(i));
            index = at[0] * LEAF_BLOCKS + i;
            i = 0;
            read_word(index, value);
            if
            :: IS_COLLECTED(value)
            :: else -> late++; index = NO_BLOCK
            fi
        }
    :: else
    fi
}

/* take_from_shard() of percore.c. It decides by its patience whether it hands out a fresh block or looks for a returned
 * one; here it does either, whatever its patience. */
inline alloc() {
    d_step {
        look_round();
        late_before = late;
        look_at_parked();
        parked = 0
    }
    if
    :: head != LAST ->
        read_word(head, value);
        PROMISE(the_list_leads_to_free_blocks, value < BLOCKS || value == LAST);
        atomic {
            write_live(head);
            head = value
        }
    :: else ->
        if
        :: collect()
        :: fresh < BLOCKS && taken[0] == 0 -> index = NO_BLOCK
        fi;
        if
        :: index != NO_BLOCK -> write_live(index)
        :: index == NO_BLOCK && fresh < BLOCKS ->
            atomic {
                write_live(fresh);
                fresh++
            }
        :: else ->
            PROMISE(what_is_in_sight_is_found, !is_some_in_sight || late != late_before)
        fi
    fi
}

/* The end of take_back() of pool_steps.h and of flat_percore_collect(): the block becomes the head of the list. */
inline put_in_list(block) {
    word[block] = head;
    head = block
}

/* take_back() of pool_steps.h. */
inline free_local() {
    atomic {
        select(index : 0 .. BLOCKS - 1);
        if
        :: !MAY_FREE(index) -> value = NO_BLOCK
        :: else ->
            read_word(index, value);
            PROMISE(a_free_is_refused_iff_the_block_is_not_live, (value == LIVE) == held[index]);
#ifndef MISUSE
            held[index] = false
#endif
        fi
    }
    if
    :: value == LIVE ->
        d_step {
#ifdef MISUSE
            if
            :: held[index] -> held[index] = false
            :: else -> overlaps++
            fi;
#endif
            put_in_list(index)
        }
    :: else
    fi
}

/* One turn of flat_percore_collect(). */
inline drain_one() {
    collect();
    if
    :: index != NO_BLOCK -> d_step { put_in_list(index) }
    :: else
    fi
}

/* After every other thread: what the program does not have is in the list, once, or was never handed out, or is held
 * back by a thread that stopped. */
inline look_at_the_end() {
    look_round();
    PROMISE(what_is_in_sight_is_found, !is_some_in_sight);
    look_at_parked();
    i = 0;
    do
    :: i == BLOCKS -> break
    :: else ->
        if
        :: held[i] -> parked++
        :: else
        fi;
        i++
    od;
    i = 0;
    do
    :: head == LAST -> break
    :: else ->
        PROMISE(the_list_leads_to_free_blocks, head < BLOCKS && !held[head]);
        value = word[head];
        word[head] = NO_BLOCK;
        head = value;
        i++
    od;
    PROMISE(no_block_is_lost, i + parked + (BLOCKS - fresh) == BLOCKS);
    PROMISE(a_late_double_free_is_counted_once, late + merged == overlaps)
}

proctype owner() {
    byte taken[3], at[3];
    byte head = LAST, fresh = HANDED_OUT, late, merged;
    byte index, value, i, parked, late_before, left = CALLS;
    bool is_something, is_some_in_sight;
    do
    :: left > 0 -> left--; alloc()
    :: left > 0 -> left--; free_local()
    :: left > 0 -> left--; drain_one()
    :: left == 0 -> break
    od;
    atomic {
        finished == FREEING;
        do
        :: late_before = late; drain_one();
            if
            :: index == NO_BLOCK && late == late_before -> break
            :: else
            fi
        od;
        look_at_the_end()
    }
}

init {
    byte i, thread;
    atomic {
        for (i : 0 .. BLOCKS - 1) {
            if
            :: i < HANDED_OUT -> word[i] = LIVE; held[i] = true
            :: else -> word[i] = LAST
            fi
        }
        i = 0;
        run owner();
        for (thread : 1 .. FREEING) {
            run freeing()
        }
        thread = 0
    }
}
