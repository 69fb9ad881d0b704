/* The protocol of src/core/hand_over.h for spin: an owner and FREEING threads that free, in every order their steps can
 * come in. Each atomic operation of the protocol is one indivisible step under the name it has there; what the owner
 * reads and writes plainly, the words of blocks, are steps of their own, so that a free by another thread can fall
 * between them. Whatever else the code does concerns one thread alone, and goes with the step beside it.
 *
 * The tree is that of the library with narrower words: GROUP_BLOCKS blocks to a group, LEAF_GROUPS counts of COUNT_BITS
 * bits to a leaf, NODE_BITS marks to a word above, TOP_NODES words at the top, LEVELS levels. Nothing in the protocol
 * depends on a width, except that a count must hold the blocks of a group and the overlaps that the owner has not come
 * to. The steps are taken to be seen by all threads in one order: what the memory orders in hand_over.h have to bring
 * about is argued there and not shown here.
 *
 *   FREEING, FREES    threads beside the owner, and how many blocks each may free
 *   CALLS             calls of the owner, each an alloc, a local free or a drain of one block
 *   HANDED_OUT        blocks that are live at first; the others were never handed out
 *   FREED             a bit for each block that is ever freed: fewer, where the tree has more than can be searched
 *   MISUSE            any thread may free any block at any time, also twice; otherwise each block that is live is
 *                     freed at most once, by any thread
 *   STOPPABLE         a thread can stop for ever inside a free; then what it holds back is bounded, and nobody waits
 *   BOUND_LESS        taken off the bound of what is held back, to show that the bound is reached
 *   HARM_ALONE        leaves out the invariants of what is between the threads: an error is then found by its harm
 *
 * Each thread that frees may end earlier. When all have, the owner drains what there is.
 *
 * Errors that one could make, put in on purpose; CMakeLists.txt has the promise that each breaks:
 *
 *   FAULT_BRANCH_BEFORE_LEAF       the mark is set before the block is counted in the leaf
 *   FAULT_EMPTINESS_BY_A_LOOK      whether the leaf is empty is looked at before the addition, and not told by it
 *   FAULT_EVERYONE_MARKS           each thread sets the mark, whether or not the leaf was empty
 *   FAULT_COUNT_ORED               one is ORed to the count, and not added
 *   FAULT_COUNT_BEFORE_CLAIM       the block is counted before it is claimed
 *   FAULT_CLAIM_EXCHANGES          the claim writes the word also where the block is free
 *   FAULT_CLAIM_BY_LOOK_AND_STORE  the claim is two steps
 *   FAULT_WAITS_FOR_THE_MARK       a free returns only when the leaf's mark, another thread's to set, is set
 *   FAULT_TOP_READ_BUT_NOT_TAKEN   the owner takes the leaf first and clears its mark afterwards
 *   FAULT_TAKES_ANEW               the owner takes from the top before it has used up what it took
 *   FAULT_WORDS_BEFORE_COUNT       the owner looks at the words of a leaf's group before it takes the leaf
 *   FAULT_WORDS_NOT_LOOKED_AT      the owner uses as many blocks of a group as were counted, whatever their words hold
 *   FAULT_WORDS_NOT_LOOKED_AT_ANEW the owner goes by the words that it looked at when it last used a block of the group
 *   FAULT_EVERY_CLAIMED_BLOCK_USED the owner uses all the claimed blocks of a group, also more than were counted
 *   FAULT_REST_KEPT                the owner keeps what was counted beyond the claimed blocks, for those to come
 *   FAULT_REST_UNTOLD              the owner drops the rest of a count and does not tell
 *   FAULT_COUNTS_TOO_NARROW        counts hold the blocks of a group and one overlap */
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

#ifndef GROUP_BLOCKS
#define GROUP_BLOCKS 2
#endif
#ifndef LEAF_GROUPS
#define LEAF_GROUPS 1
#endif
#define LEAF_BLOCKS (LEAF_GROUPS * GROUP_BLOCKS)
#define NODE_BITS 2
#ifdef FAULT_COUNTS_TOO_NARROW
#define COUNT_BITS 2
#else
#define COUNT_BITS 3
#endif
#define COUNT_MASK ((1 << COUNT_BITS) - 1)
#define FULL_LEAF ((1 << LEAF_GROUPS * COUNT_BITS) - 1)
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
#define GROUPS (LEAVES * LEAF_GROUPS)
#define BLOCKS (GROUPS * GROUP_BLOCKS)
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
hidden byte a_free_is_refused_iff_the_block_is_not_live,
    a_late_double_free_is_counted_once,
    a_mark_is_set_once_before_it_is_taken,
    a_word_is_not_empty_iff_it_is_marked_once,
    claimed_blocks_are_counted_once,
    no_block_is_given_twice,
    no_block_is_lost,
    of_two_frees_one_takes_effect,
    the_list_leads_to_free_blocks,
    what_a_mark_leads_to_is_not_empty,
    what_is_in_sight_is_found,
    what_is_parked_is_bounded;
#define PROMISE(name, condition) assert((condition) || name)
#ifdef HARM_ALONE
#define INVARIANT(name, condition) skip
#else
#define INVARIANT(name, condition) PROMISE(name, condition)
#endif

byte word[BLOCKS];
byte leaf[LEAVES];
byte branch[BRANCHES];
byte trunk[TRUNKS];

/* The owner's alone. */
byte taken[3], at[3];
byte group, claimed, due;

/* Known to the model alone. */
bool held[BLOCKS];             /* the program has the block: handed out, and no free of it took effect */
byte inside;                   /* threads that have claimed a block, and whose free has not returned */
byte counting[GROUPS];         /* those of them that have not counted it yet */
byte marking_leaf[LEAVES];     /* threads that made the leaf differ from 0, and have not set its mark yet */
byte marking_branch[BRANCHES]; /* the same of the branch */
byte finished;                 /* threads that are done, or stopped for ever */
byte overlaps;                 /* pairs of a local and a remote free of one block that both took effect */
byte overlaps_in[GROUPS];      /* those that the owner has not come to */

/* ---- Where a block belongs, and what holds between any two steps ---- */

#define GROUP_OF(block) ((block) / GROUP_BLOCKS)
#define LEAF_OF_GROUP(of) ((of) / LEAF_GROUPS)
#define LEAF_OF(block) LEAF_OF_GROUP(GROUP_OF(block))
#define ONE_OF(of) (1 << (of) % LEAF_GROUPS * COUNT_BITS)
#define COUNT_OF(counts, of) ((counts) >> (of) % LEAF_GROUPS * COUNT_BITS & COUNT_MASK)
#define ABOVE(number) ((number) / NODE_BITS)
#define MARK_OF(number) (1 << (number) % NODE_BITS)
#define HAS_MARK(marks, number) (((marks) & MARK_OF(number)) != 0)

/* What the owner took and has not used up: the mark of a word, or a group's count. */
#define TOOK_MARK(level, number) (at[level] == ABOVE(number) && HAS_MARK(taken[level], number))
#define TOOK_OF(of) ((at[0] == LEAF_OF_GROUP(of) -> COUNT_OF(taken[0], of) : 0) + (group == (of) -> due : 0))

#define IS_CLAIMED(of, i) (i < GROUP_BLOCKS && word[(of) * GROUP_BLOCKS + i] == CLAIMED)
#define CLAIMED_IN(of) (IS_CLAIMED(of, 0) + IS_CLAIMED(of, 1) + IS_CLAIMED(of, 2))

inline look_at_count(which) {
    INVARIANT(claimed_blocks_are_counted_once,
              CLAIMED_IN(which) + overlaps_in[which] == COUNT_OF(leaf[LEAF_OF_GROUP(which)], which) + TOOK_OF(which) + counting[which])
}

inline look_at_leaf_mark(number) {
    INVARIANT(a_word_is_not_empty_iff_it_is_marked_once,
              LEVELS == 1 || (leaf[number] != 0) == HAS_MARK(branch[ABOVE(number)], number) + TOOK_MARK(1, number) +
                                                        marking_leaf[number])
}

inline look_at_branch_mark(number) {
    INVARIANT(a_word_is_not_empty_iff_it_is_marked_once,
              LEVELS <= 2 || (branch[number] != 0) == HAS_MARK(trunk[ABOVE(number)], number) + TOOK_MARK(2, number) +
                                                         marking_branch[number])
}

/* ---- The steps of hand_over.h ---- */

#ifdef FAULT_CLAIM_EXCHANGES
inline step_claim(block, mine) {
    d_step {
        mine = (word[block] == LIVE);
        word[block] = CLAIMED;
        if
        :: mine -> held[block] = false; inside++; counting[GROUP_OF(block)]++
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
        :: mine -> word[block] = CLAIMED; held[block] = false; inside++; counting[GROUP_OF(block)]++
        :: else
        fi;
        look_at_count(GROUP_OF(block))
    }
}
#endif

inline step_add_to_leaf(which, mark_is_due) {
    d_step {
        mark_is_due = (leaf[LEAF_OF_GROUP(which)] == 0 && LEVELS > 1);
#ifdef FAULT_COUNT_ORED
        leaf[LEAF_OF_GROUP(which)] = leaf[LEAF_OF_GROUP(which)] | ONE_OF(which);
#else
        leaf[LEAF_OF_GROUP(which)] = leaf[LEAF_OF_GROUP(which)] + ONE_OF(which) & FULL_LEAF;
#endif
        counting[which]--;
        if
        :: mark_is_due -> marking_leaf[LEAF_OF_GROUP(which)]++
        :: else -> inside--
        fi;
        look_at_count(which);
        look_at_leaf_mark(LEAF_OF_GROUP(which))
    }
}

inline step_add_to_branch(number, mark_is_due) {
    d_step {
        INVARIANT(a_mark_is_set_once_before_it_is_taken, !HAS_MARK(branch[ABOVE(number)], number));
        mark_is_due = (branch[ABOVE(number)] == 0 && LEVELS > 2);
        branch[ABOVE(number)] = branch[ABOVE(number)] + MARK_OF(number) & FULL_NODE;
        marking_leaf[number]--;
        if
        :: mark_is_due -> marking_branch[ABOVE(number)]++
        :: else -> inside--
        fi;
        look_at_leaf_mark(number);
        look_at_branch_mark(ABOVE(number))
    }
}

inline step_add_to_trunk(number) {
    d_step {
        INVARIANT(a_mark_is_set_once_before_it_is_taken, !HAS_MARK(trunk[ABOVE(number)], number));
        trunk[ABOVE(number)] = trunk[ABOVE(number)] + MARK_OF(number) & FULL_NODE;
        marking_branch[number]--;
        inside--;
        look_at_branch_mark(number)
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
        INVARIANT(what_a_mark_leads_to_is_not_empty, marks != 0);
        look_at_branch_mark(number)
    }
}

inline step_take_leaf(number, counts) {
    d_step {
        counts = leaf[number];
        leaf[number] = 0;
        INVARIANT(what_a_mark_leads_to_is_not_empty, counts != 0);
        look_at_leaf_mark(number)
    }
}

inline step_look_at_word(block, is_claimed) {
    d_step { is_claimed = (word[block] == CLAIMED) }
}

/* ---- A thread that frees ---- */

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
inline mark(block, mark_is_due) {
    mark_is_due = (leaf[LEAF_OF(block)] == 0);
    if
    :: mark_is_due -> step_add_to_branch(LEAF_OF(block), mark_is_due); inside++
    :: else
    fi;
    step_add_to_leaf(GROUP_OF(block), mark_is_due)
}
#else
inline mark(block, mark_is_due) {
    atomic {
#ifdef FAULT_EMPTINESS_BY_A_LOOK
        d_step { mark_is_due = (leaf[LEAF_OF(block)] == 0) }
    }
    atomic {
        d_step {
            leaf[LEAF_OF(block)] = leaf[LEAF_OF(block)] + ONE_OF(GROUP_OF(block));
            counting[GROUP_OF(block)]--;
            if
            :: mark_is_due
            :: else -> inside--
            fi
        }
#else
        step_add_to_leaf(GROUP_OF(block), mark_is_due);
#endif
#ifdef FAULT_EVERYONE_MARKS
        if
        :: mark_is_due
        :: else -> mark_is_due = true; inside++
        fi;
#endif
#ifdef FAULT_COUNT_BEFORE_CLAIM
    }
    atomic {
        word[block] = CLAIMED;
#endif
        if
        :: mark_is_due -> MAY_STOP
        :: else -> RETURN_ONCE_MARKED
        fi
    }
    atomic {
        step_add_to_branch(LEAF_OF(block), mark_is_due);
        if
        :: mark_is_due -> MAY_STOP
        :: else -> goto returned
        fi
    }
    step_add_to_trunk(ABOVE(LEAF_OF(block)))
}
#endif

proctype freeing() {
    byte block, left = FREES;
    bool is_due;
free:
    atomic {
        select(block : 0 .. BLOCKS - 1);
        if
        :: left == 0 || !MAY_FREE(block) -> goto ended
        :: else -> left--
        fi;
#ifdef FAULT_CLAIM_BY_LOOK_AND_STORE
        is_due = (word[block] == LIVE)
    }
    atomic {
        PROMISE(of_two_frees_one_takes_effect, !is_due || held[block]);
        if
        :: is_due -> word[block] = CLAIMED; held[block] = false; inside++; counting[GROUP_OF(block)]++
        :: else
        fi;
#elif defined(FAULT_COUNT_BEFORE_CLAIM)
        is_due = true;
        held[block] = false;
        inside++;
        counting[GROUP_OF(block)]++;
#else
        step_claim(block, is_due);
#endif
        if
        :: is_due -> MAY_STOP
        :: else -> goto returned
        fi
    }
    mark(block, is_due);
returned:
    atomic { block = 0; is_due = false; goto free };
#ifdef FAULT_WAITS_FOR_THE_MARK
wait:
    if
    :: leaf[LEAF_OF(block)] == 0 || HAS_MARK(branch[ABOVE(LEAF_OF(block))], LEAF_OF(block)) -> goto returned
    :: else -> goto wait
    fi;
#endif
ended:
    finished++
}

/* ---- The owner ---- */

/* How many blocks of a group the owner comes to by what it has taken and what is marked in the top. */
#define BRANCH_IN_SIGHT(number) (LEVELS == 2 || TOOK_MARK(2, number) || HAS_MARK(trunk[ABOVE(number)], number))
#define LEAF_IN_SIGHT(number)                                                                                          \
    (LEVELS == 1 || TOOK_MARK(1, number) || HAS_MARK(branch[ABOVE(number)], number) && BRANCH_IN_SIGHT(ABOVE(number)))
#define IN_SIGHT(of)                                                                                                   \
    (TOOK_OF(of) + (LEAF_IN_SIGHT(LEAF_OF_GROUP(of)) -> COUNT_OF(leaf[LEAF_OF_GROUP(of)], of) : 0))

/* How many blocks are claimed and out of the owner's sight, and whether others are in it. */
inline look_round() {
    i = 0; parked = 0; is_some_in_sight = false;
    do
    :: i == GROUPS -> break
    :: else ->
        if
        :: CLAIMED_IN(i) > IN_SIGHT(i) -> parked = parked + CLAIMED_IN(i) - IN_SIGHT(i)
        :: else
        fi;
        is_some_in_sight = is_some_in_sight || CLAIMED_IN(i) > 0 && IN_SIGHT(i) > 0;
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
        held[block] = true;
        look_at_count(GROUP_OF(block))
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

/* A bit for each claimed block of the group. */
inline look_at_words(which) {
    claimed = 0;
    do
    :: atomic {
           i < GROUP_BLOCKS ->
           step_look_at_word((which) * GROUP_BLOCKS + i, is_something);
           claimed = claimed | is_something << i;
           is_something = false;
           i++
       }
    :: i == GROUP_BLOCKS -> i = 0; break
    od
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
#ifdef FAULT_WORDS_BEFORE_COUNT
        atomic {
            use_lowest(taken[1], i);
            at[0] = at[1] * NODE_BITS + i;
            i = 0
        }
        look_at_words(at[0] * LEAF_GROUPS);
        step_take_leaf(at[0], taken[0])
#else
        atomic {
            use_lowest(taken[1], i);
            at[0] = at[1] * NODE_BITS + i;
            i = 0;
            step_take_leaf(at[0], taken[0])
        }
#endif
#ifdef FAULT_TOP_READ_BUT_NOT_TAKEN
        d_step {
            branch[at[1]] = branch[at[1]] & ~MARK_OF(at[0])
        }
#endif
    :: else
    fi
}

/* The count of the first group that was taken, and what there is to use of the group. */
inline take_group() {
    atomic {
        i = 0;
        do
        :: COUNT_OF(taken[0], i) != 0 -> break
        :: else -> i++
        od;
        due = COUNT_OF(taken[0], i);
        taken[0] = taken[0] & ~(COUNT_MASK * ONE_OF(i));
#ifdef FAULT_WORDS_NOT_LOOKED_AT_ANEW
        if
        :: group != at[0] * LEAF_GROUPS + i -> claimed = 0
        :: else
        fi;
#endif
        group = at[0] * LEAF_GROUPS + i;
        i = 0
    }
#ifdef FAULT_WORDS_NOT_LOOKED_AT
    claimed = (1 << GROUP_BLOCKS) - 1
#elif defined(FAULT_WORDS_NOT_LOOKED_AT_ANEW)
    if
    :: claimed == 0 -> look_at_words(group)
    :: else
    fi
#elif !defined(FAULT_WORDS_BEFORE_COUNT)
    look_at_words(group)
#endif
}

/* What is written before it is read again is 0 meanwhile, so that states are few. */
inline forget() {
    at[0] = (taken[0] != 0 -> at[0] : 0);
    at[1] = (taken[1] != 0 -> at[1] : 0);
    at[2] = (taken[2] != 0 -> at[2] : 0);
#ifndef FAULT_WORDS_NOT_LOOKED_AT_ANEW
    claimed = (due != 0 -> claimed : 0);
    group = (due != 0 -> group : 0)
#endif
}

/* collect() of percore.c, up to a block that may be used: who uses it says use_claimed(). */
inline collect() {
    index = NO_BLOCK;
    if
    :: due == 0 ->
        if
        :: taken[0] == 0 -> refill()
        :: else
        fi;
        if
        :: taken[0] != 0 -> take_group()
        :: else
        fi
    :: else
#ifdef FAULT_REST_KEPT
        if
        :: claimed == 0 -> look_at_words(group)
        :: else
        fi
#endif
    fi;
    if
    :: due != 0 && claimed != 0 ->
        atomic {
            i = 0;
            do
            :: claimed & (1 << i) -> break
            :: else -> i++
            od;
            index = group * GROUP_BLOCKS + i;
            i = 0
        }
    :: due != 0 && claimed == 0 ->
#ifdef FAULT_REST_KEPT
        skip
#else
        d_step {
#ifndef FAULT_REST_UNTOLD
            late = late + due;
#endif
            overlaps_in[group] = overlaps_in[group] - due;
            due = 0;
            look_at_count(group);
            forget()
        }
#endif
    :: else
    fi
}

inline use_claimed() {
    claimed = claimed & (claimed - 1);
    due--;
#ifdef FAULT_EVERY_CLAIMED_BLOCK_USED
    due = (claimed != 0 -> due + (due == 0) : due);
#endif
    forget()
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
        :: fresh < BLOCKS && due == 0 -> index = NO_BLOCK
        fi;
        if
        :: index != NO_BLOCK ->
            atomic {
                use_claimed();
                write_live(index)
            }
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
    head = block;
    look_at_count(GROUP_OF(block))
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
            :: else -> overlaps++; overlaps_in[GROUP_OF(index)]++
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
    :: index != NO_BLOCK ->
        d_step {
            use_claimed();
            put_in_list(index)
        }
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
    PROMISE(a_late_double_free_is_counted_once, late == overlaps)
}

proctype owner() {
    byte head = LAST, fresh = HANDED_OUT, late;
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
