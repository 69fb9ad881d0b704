/* A ring from one thread heap to another, for spin: what src/malloc/rings.c and home.c do by a sender and a receiver, and
 * heaps.c where the receiver's thread ends, or the sender's, and another takes the ring over. Each access to what both can
 * see is one indivisible step, and all threads see the steps in one order.
 *
 *   RING, SENDS, BATCH   places of the ring; how often a sender sends, and how many blocks at most each time
 *
 * Errors that one could make, put in on purpose; CMakeLists.txt has the promise that each breaks:
 *
 *   FAULT_OVERWRITES         the sender takes the ring for one place longer than it is
 *   FAULT_READ_SAID_FIRST    the receiver says that it has read before it has
 *   FAULT_WRITTEN_SAID_FIRST the sender says that it has written before it has
 *   FAULT_USE_NOT_LOOKED_AT  the sender does not look whether the heap has been left
 *   FAULT_LEFT_LATE          the receiver takes the last blocks, and then says that it leaves
 *   FAULT_RING_SHARED        two senders use the ring at once */
#ifndef RING
#define RING 2
#endif
#ifndef SENDS
#define SENDS 2
#endif
#ifndef BATCH
#define BATCH 2
#endif

hidden byte no_block_is_lost, no_block_comes_twice;
#define PROMISE(name, condition) assert((condition) || name)

byte written, read, read_before, sender;
byte places[RING];
bool left, locked;

/* Known to the model alone: blocks are numbered from 1. */
byte next_block = 1;
bool arrived[16], by_tree[16];
byte finished;

/* Under the lock of the receiving heap. */
inline take_all() {
    d_step { upto = written }
    do
    :: read != upto ->
#ifdef FAULT_READ_SAID_FIRST
       d_step { at = read; read++ }
       d_step {
           PROMISE(no_block_comes_twice, !arrived[places[at % RING]]);
           arrived[places[at % RING]] = true
       }
#else
       d_step {
           PROMISE(no_block_comes_twice, !arrived[places[read % RING]]);
           arrived[places[read % RING]] = true
       }
       d_step { read++ }
#endif
    :: else -> break
    od
}

inline lock() {
    atomic { !locked -> locked = true }
}

inline unlock() {
    d_step { locked = false }
}

/* Which of the senders has it changes by one step, and only one succeeds. */
inline claim(me) {
    d_step {
#ifdef FAULT_RING_SHARED
        mine = true
#else
        mine = sender == 0 || sender == me;
#endif
        if
        :: mine -> sender = me
        :: else
        fi
    }
}

inline put(block) {
    d_step { no_room = tail - read_before >= RING }
    if
    :: no_room -> d_step { read_before = read }
    :: else
    fi;
    skip; /* spin takes no jump into a d_step */
#ifdef FAULT_OVERWRITES
    d_step { no_room = tail - read_before > RING }
#else
    d_step { no_room = tail - read_before >= RING }
#endif
    if
    :: no_room -> by_tree[block] = true
    :: else ->
#ifdef FAULT_WRITTEN_SAID_FIRST
       d_step { tail++; written = tail }
       d_step { places[(tail - 1) % RING] = block }
#else
       d_step { places[tail % RING] = block; tail++ }
#endif
    fi
}

proctype sending(byte me) {
    byte n, k, block, tail, upto, at;
    bool mine, no_room, seen;
    do
    :: n < SENDS ->
       n++;
       claim(me);
       if
       :: mine ->
          tail = written;
          k = 0;
          do
          :: k < BATCH ->
             k++;
             d_step { block = next_block; next_block++ }
             put(block)
          :: break
          od;
          skip;
          d_step { written = tail }
#ifdef FAULT_USE_NOT_LOOKED_AT
          d_step { seen = left; seen = false }
#else
          d_step { seen = left }
#endif
          if
          :: seen -> lock(); take_all(); unlock()
          :: else
          fi
       :: else
       fi
    :: break
    od;
    skip;
    d_step {
        if
        :: sender == me -> sender = 0
        :: else
        fi;
        finished++
    }
}

proctype receiving() {
    byte upto, at, n;
    do
    :: n < 2 -> n++; lock(); take_all(); unlock()
    :: break
    od;
    lock();
#ifdef FAULT_LEFT_LATE
    take_all();
    skip;
    d_step { left = true }
#else
    d_step { left = true }
    take_all();
#endif
    unlock();
    finished == 2;
    n = 1;
    do
    :: n < next_block -> PROMISE(no_block_is_lost, arrived[n] != by_tree[n]); n++
    :: else -> break
    od
}

init {
    atomic {
        run sending(1);
        run sending(2);
        run receiving()
    }
}
