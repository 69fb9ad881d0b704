/* A chunk that changes hands, for spin: what src/malloc/returned.c and flat_chunk_take() of extents.c do where a chunk goes
 * from one thread heap to the next, while threads are late in setting marks for blocks that have come back already. Each
 * atomic operation is one indivisible step, and all threads see the steps in one order. The steps of a free by themselves
 * are those of returned.pml.
 *
 * The chunk has PAGES pages of one block each, and above their marks one word of a chunk's marks with one mark in it. The
 * first heap begins with all blocks in use, and gives the chunk up when all have come back. The second takes it, hands all
 * blocks out anew, and must get them back. The first goes on looking at its own tree all the while.
 *
 *   FREEING, FREES   threads beside the heaps, and how many blocks each may free
 *
 * Errors that one could make, put in on purpose; CMakeLists.txt has the promise that each breaks:
 *
 *   FAULT_OWNER_LOOKED_UP_FIRST   whose tree is marked is looked up before the marks below are set
 *   FAULT_MARKS_NOT_CLEARED       the second heap finds the marks that the first has left
 *   FAULT_CLEARED_TOO_EARLY       it clears them before it makes known whose the chunk is
 *   FAULT_OWNER_NOT_CHECKED       a heap follows its tree to a chunk that is no longer its own */
#ifndef FREEING
#define FREEING 2
#endif
#ifndef FREES
#define FREES 2
#endif
#define PAGES 2
#define FIRST 1
#define SECOND 2

hidden byte no_block_is_lost, no_block_is_free_twice;
#define PROMISE(name, condition) assert((condition) || name)

bool returned[PAGES], page_marks[PAGES], chunk_mark, tree[3];
byte owner = FIRST;

/* Known to the model alone. */
bool held[PAGES], is_free[PAGES];
byte finished;

inline set_mark(word, first) {
    d_step { first = !word; word = true }
}

inline look_up_owner(number) {
    d_step { number = owner }
}

inline choose_held_block(page) {
    atomic {
        if
        :: held[0] -> page = 0; held[0] = false
        :: held[1] -> page = 1; held[1] = false
        :: !held[0] && !held[1] -> page = PAGES
        fi
    }
}

proctype freeing() {
    byte page, number, n;
    bool first;
    do
    :: n < FREES ->
       n++;
       choose_held_block(page);
       if
       :: page == PAGES -> goto next
       :: else
       fi;
#ifdef FAULT_OWNER_LOOKED_UP_FIRST
       look_up_owner(number);
#endif
       d_step { returned[page] = true }
       set_mark(page_marks[page], first);
       if
       :: !first -> goto next
       :: else
       fi;
       set_mark(chunk_mark, first);
       if
       :: !first -> goto next
       :: else
       fi;
#ifndef FAULT_OWNER_LOOKED_UP_FIRST
       look_up_owner(number);
#endif
       if
       :: number != 0 -> d_step { tree[number] = true }
       :: else
       fi;
next:  skip
    :: break
    od;
    finished++
}

/* What the heap `me` does with a mark of its tree: the word of the chunk is taken, then each page's. */
inline take_back(me, page) {
    if
    :: tree[me] ->
       d_step { tree[me] = false }
#ifndef FAULT_OWNER_NOT_CHECKED
       if
       :: owner == me ->
#endif
          d_step { mine = chunk_mark; chunk_mark = false }
          page = 0;
          do
          :: mine && page < PAGES ->
             d_step { marked = page_marks[page]; page_marks[page] = false }
             if
             :: marked && returned[page] ->
                d_step {
                    returned[page] = false;
                    PROMISE(no_block_is_free_twice, !is_free[page]);
                    is_free[page] = true
                }
             :: else
             fi;
             page++
          :: else -> break
          od
#ifndef FAULT_OWNER_NOT_CHECKED
       :: else
       fi
#endif
    :: else
    fi;
    page = 0
}

inline look_whether_all_are_free(all) {
    d_step { all = is_free[0] && is_free[1] }
}

proctype first_heap() {
    byte page;
    bool mine, marked, all;
    do
    :: !all -> take_back(FIRST, page); look_whether_all_are_free(all)
    :: else -> break
    od;
    skip; /* spin takes no jump into a d_step */
    d_step { owner = 0 }
    /* Marks that are late lead it to a chunk that is no longer its own. */
    do
    :: take_back(FIRST, page)
    :: finished == FREEING -> break
    od
}

inline clear_marks() {
    skip;
#ifndef FAULT_MARKS_NOT_CLEARED
    d_step { page_marks[0] = false }
    d_step { page_marks[1] = false }
    d_step { chunk_mark = false }
#endif
}

inline count_lost() {
    skip;
    d_step {
        lost = 0;
        if
        :: !held[0] && !is_free[0] -> lost++
        :: else
        fi;
        if
        :: !held[1] && !is_free[1] -> lost++
        :: else
        fi
    }
}

proctype second_heap() {
    byte page, lost, n;
    bool mine, marked;
    owner == 0;
#ifdef FAULT_CLEARED_TOO_EARLY
    clear_marks();
    d_step { owner = SECOND }
#else
    d_step { owner = SECOND }
    clear_marks();
#endif
    d_step { is_free[0] = false; held[0] = true }
    d_step { is_free[1] = false; held[1] = true }
    do
    :: take_back(SECOND, page)
    :: finished == FREEING -> break
    od;
    n = 0;
    do
    :: n < 2 -> n++; take_back(SECOND, page)
    :: else -> break
    od;
    count_lost();
    PROMISE(no_block_is_lost, lost == 0)
}

init {
    byte n;
    atomic {
        held[0] = true;
        held[1] = true;
        do
        :: n < FREEING -> run freeing(); n++
        :: else -> break
        od;
        run first_heap();
        run second_heap()
    }
}
