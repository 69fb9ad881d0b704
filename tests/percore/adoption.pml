/* How threads come to own shards, for spin: flat_percore_adopt and flat_percore_leave, by THREADS threads that adopt
 * one of SHARDS shards, use it and leave it, ROUNDS times each, or stop for ever while they own it (STOPPABLE). The
 * owner's use of what is in a shard is a read and a write of their own, which another owner would spoil. */
#ifndef SHARDS
#define SHARDS 2
#endif
#ifndef THREADS
#define THREADS 3
#endif
#ifndef ROUNDS
#define ROUNDS 2
#endif

#ifdef STOPPABLE
#define MAY_STOP if :: goto ended :: skip fi
#else
#define MAY_STOP skip
#endif

/* What is promised. A promise stands where it must hold; its name, never set, is there for pan to print. */
hidden byte a_shard_has_one_owner, an_owner_finds_what_the_last_one_left, as_many_shards_as_threads_suffice;
#define PROMISE(name, condition) assert((condition) || name)

bool owned[SHARDS];
byte content[SHARDS]; /* what the owners change */

/* Known to the model alone. */
byte owners[SHARDS];
byte changes[SHARDS];

#ifdef FAULT_OWNED_SHARDS_ADOPTED
#define MAY_BE_ADOPTED(number) true
#else
#define MAY_BE_ADOPTED(number) !owned[number]
#endif

inline step_adopt(number, mine) {
    d_step {
        mine = MAY_BE_ADOPTED(number);
        owned[number] = true
    }
}

inline step_leave(number) {
    d_step {
        owners[number]--;
        owned[number] = false
    }
}

/* flat_percore_adopt of percore_setup.c; `shard` is SHARDS iff there is none. */
inline adopt(shard) {
    shard = 0;
    do
    :: shard == SHARDS -> break
    :: else ->
        atomic {
#ifdef FAULT_ADOPTION_BY_LOOK_AND_STORE
            mine = !owned[shard]
        }
        atomic {
            owned[shard] = true;
#else
            step_adopt(shard, mine);
#endif
            if
            :: mine -> owners[shard]++; break
            :: else -> shard++
            fi
        }
    od
}

proctype thread() {
    byte shard, seen, left = ROUNDS;
    bool mine;
    do
    :: left == 0 -> break
    :: else ->
        left--;
        adopt(shard);
        PROMISE(as_many_shards_as_threads_suffice, shard < SHARDS || SHARDS < THREADS);
        if
        :: shard < SHARDS ->
            PROMISE(a_shard_has_one_owner, owners[shard] == 1);
            seen = content[shard];
            d_step {
                content[shard] = seen + 1;
                changes[shard]++
            }
            PROMISE(an_owner_finds_what_the_last_one_left, content[shard] == changes[shard]);
            MAY_STOP;
            step_leave(shard)
        :: else
        fi
    od;
ended:
    skip
}

init {
    byte number;
    atomic {
        for (number : 1 .. THREADS) {
            run thread()
        }
    }
}
