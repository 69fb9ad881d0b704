/* How clients reserve jobs of several shards, for spin: Conversation and ShardExchange of src/server. Each of CLIENTS
 * clients watches a tube on each of SHARDS shards and reserves RESERVES times, waiting or not; whoever waits may be timed
 * out, and each client may leave at any time. Of JOBS jobs, put at any time, number j is on shard j modulo SHARDS, and
 * that of the lowest number is served first. With EXPIRING a reservation may run out at any time.
 *
 * A shard does one thing after the other, each to its end; so every step of this model is the whole of what one event
 * does: a message, a command, a timer. Lanes between shards keep their order. */
#ifndef SHARDS
#define SHARDS 2
#endif
#ifndef CLIENTS
#define CLIENTS 2
#endif
#ifndef JOBS
#define JOBS 2
#endif
#ifndef RESERVES
#define RESERVES 2
#endif

/* What is promised. A promise stands where it must hold; its name, never set, is there for pan to print. */
hidden byte no_job_is_reserved_for_two, no_job_is_lost, nobody_waits_for_a_job_that_is_there, only_who_reserves_waits,
    every_question_is_answered, lanes_have_room, only_what_it_has_is_given_back;
#define PROMISE(name, condition) assert((condition) || name)

/* Messages, of a client c: to a shard, and back. */
mtype = { FIND_WAITING, FIND_ONLY, CANCEL, GIVE_BACK, DELETE, RELEASE, CLOSE };
mtype = { FOUND, STILL_WAITS, NOTHING, SETTLED, ANSWERED };
#define ROOM (4 * CLIENTS) /* ShardExchange::messages_for, in which the clients of all shards are counted here */
chan lane[SHARDS * SHARDS] = [ROOM] of { mtype, byte, byte };
#define LANE(from, to) lane[(from) * SHARDS + (to)]
#define NONE 255

/* Of jobs, known to their shard. */
mtype = { UNPUT, READY, RESERVED, DELETED };
mtype job[JOBS] = UNPUT;
byte holder[JOBS] = NONE;

/* Of a client at a shard. */
#define AT(client, shard) ((client) * SHARDS + (shard))
bool waiting[CLIENTS * SHARDS];   /* known to the shard */
byte ended[CLIENTS * SHARDS] = NONE; /* the job that its wait has got, which is not told yet */
mtype = { IDLE, ASKED, WAITING, OFFERED };
mtype part[CLIENTS * SHARDS] = IDLE; /* known to the client, as is what follows */
byte offer[CLIENTS * SHARDS] = NONE;
byte unsettled[CLIENTS * SHARDS];

/* Of a client, whose conversation is at the shard HOME. */
#define HOME(client) ((client) % SHARDS)
mtype = { LINE, ASKING, RESERVING, CLOSING, GONE };
mtype phase[CLIENTS] = LINE;
mtype = { UNDECIDED, GOT, TIMED_OUT };
mtype end[CLIENTS] = UNDECIDED;
byte winner[CLIENTS], reserves[CLIENTS];
bool has_left[CLIENTS];
byte told[JOBS] = NONE; /* the client that was answered RESERVED, and has not let go of the job */

byte c, s, j, k, n, best; /* of the step */
bool flag;

#define IS_HERE(client, shard) ((shard) == HOME(client))

inline tell(sender, receiver, what, whose, about) {
    PROMISE(lanes_have_room, nfull(LANE(sender, receiver)));
    LANE(sender, receiver)!what, whose, about
}

/* The first job that is ready on a shard. */
inline look_for_best(shard) {
    best = NONE;
    for (n : 0 .. JOBS - 1) {
        if
        :: best == NONE && job[n] == READY && n % SHARDS == shard -> best = n
        :: else
        fi
    }
}

inline reserve_for(client, which) {
    job[which] = RESERVED;
    holder[which] = client
}

inline make_ready(which) {
    job[which] = READY;
    holder[which] = NONE
}

/* Broker::serve_waiting: any of those that wait, since which one waits longest does not matter here. */
inline serve_waiting(shard) {
    do
    :: true ->
        look_for_best(shard);
        if
        :: best != NONE && waiting[AT(0, shard)] -> k = 0
#if CLIENTS > 1
        :: best != NONE && waiting[AT(1, shard)] -> k = 1
#endif
#if CLIENTS > 2
        :: best != NONE && waiting[AT(2, shard)] -> k = 2
#endif
        :: else -> break
        fi;
        waiting[AT(k, shard)] = false;
        reserve_for(k, best);
        ended[AT(k, shard)] = best
    od
}

/* ShardExchange::find_here; the answer is in `answer` and `best`. */
mtype answer;
inline find_here(client, shard, waits) {
    look_for_best(shard);
    if
    :: best != NONE ->
        answer = FOUND;
#ifndef FAULT_OFFERS_ARE_LOOKS
        reserve_for(client, best)
#endif
    :: else ->
        answer = (waits -> STILL_WAITS : NOTHING);
        waiting[AT(client, shard)] = waits
    fi
}

inline give_back_here(client, shard, which) {
    flag = holder[which] == client;
#ifdef FAULT_ANYONES_IS_GIVEN_BACK
    PROMISE(only_what_it_has_is_given_back, flag);
    flag = true;
#endif
    if
    :: flag -> make_ready(which); serve_waiting(shard)
    :: else
    fi
}

inline give_back(client, shard, which) {
    if
    :: IS_HERE(client, shard) -> give_back_here(client, shard, which)
    :: else ->
        tell(HOME(client), shard, GIVE_BACK, client, which);
        unsettled[AT(client, shard)]++
    fi
}

inline cancel(client, shard) {
    if
    :: IS_HERE(client, shard) -> waiting[AT(client, shard)] = false
    :: else ->
        tell(HOME(client), shard, CANCEL, client, NONE);
        unsettled[AT(client, shard)]++
    fi
}

/* Conversation::note */
inline note(client, shard, what, which) {
    if
    :: phase[client] == RESERVING && end[client] == UNDECIDED ->
        part[AT(client, shard)] = (what == STILL_WAITS -> WAITING : OFFERED);
        offer[AT(client, shard)] = (what == FOUND -> which : NONE)
    :: else ->
        if
        :: part[AT(client, shard)] == ASKED -> unsettled[AT(client, shard)]--
        :: else
        fi;
        part[AT(client, shard)] = IDLE;
        if
#ifndef FAULT_LATE_OFFERS_KEPT
        :: what == FOUND -> give_back(client, shard, which)
#endif
#ifndef FAULT_LATE_WAITS_GO_ON
        :: what == STILL_WAITS -> cancel(client, shard)
#endif
        :: else
        fi
    fi
}

/* Conversation::stop_waits */
inline stop_waits(client, how) {
    end[client] = how;
    for (s : 0 .. SHARDS - 1) {
        if
        :: part[AT(client, s)] == ASKED -> unsettled[AT(client, s)]++
        :: part[AT(client, s)] == WAITING ->
            part[AT(client, s)] = IDLE;
#ifndef FAULT_WAITS_NOT_CANCELLED
            cancel(client, s)
#endif
        :: part[AT(client, s)] == OFFERED ->
            part[AT(client, s)] = IDLE;
            if
#ifndef FAULT_OTHER_OFFERS_KEPT
            :: offer[AT(client, s)] != NONE && (how != GOT || s != winner[client]) ->
                give_back(client, s, offer[AT(client, s)])
#endif
            :: else
            fi
        :: else
        fi
    }
}

inline close_here(client, shard) {
    for (j : 0 .. JOBS - 1) {
        if
        :: j % SHARDS == shard && job[j] == RESERVED && holder[j] == client -> make_ready(j)
        :: else
        fi
    }
    waiting[AT(client, shard)] = false;
    serve_waiting(shard)
}

/* Conversation::go_on_ending, with all shards asked at once. */
inline close(client) {
    phase[client] = CLOSING;
    for (j : 0 .. JOBS - 1) {
        if
        :: told[j] == client -> told[j] = NONE
        :: else
        fi
    }
    for (s : 0 .. SHARDS - 1) {
        if
        :: IS_HERE(client, s) -> close_here(client, s)
        :: else ->
            tell(HOME(client), s, CLOSE, client, NONE);
            unsettled[AT(client, s)]++
        fi
    }
}

/* Conversation::say_end */
inline say_end(client) {
    phase[client] = LINE;
    if
    :: has_left[client] -> close(client)
    :: !has_left[client] && end[client] == GOT ->
        j = offer[AT(client, winner[client])];
#ifndef EXPIRING
        PROMISE(no_job_is_reserved_for_two, told[j] == NONE && holder[j] == client);
#endif
        told[j] = client
    :: else
    fi;
    end[client] = UNDECIDED; /* which nothing looks at any more, as at what follows */
    winner[client] = 0;
    for (s : 0 .. SHARDS - 1) {
        offer[AT(client, s)] = NONE
    }
}

inline look_whether_settled(client) {
    flag = true;
    for (s : 0 .. SHARDS - 1) {
        flag = flag && unsettled[AT(client, s)] == 0
    }
#ifdef FAULT_ANSWERED_BEFORE_ALL_IS_SETTLED
    flag = true
#endif
}

/* Conversation::decide */
inline decide(client) {
    if
    :: phase[client] == RESERVING && end[client] == UNDECIDED ->
        flag = true; /* every shard has answered, and there is an offer or nothing to wait for */
        best = NONE;
        for (s : 0 .. SHARDS - 1) {
            flag = flag && (has_left[client] || part[AT(client, s)] != ASKED);
            if
            :: !has_left[client] && part[AT(client, s)] == OFFERED && offer[AT(client, s)] < best ->
                best = offer[AT(client, s)];
                winner[client] = s
            :: else
            fi
        }
        for (s : 0 .. SHARDS - 1) {
            flag = flag && (has_left[client] || best != NONE || part[AT(client, s)] != WAITING)
        }
        if
        :: flag && best != NONE -> stop_waits(client, GOT)
        :: flag && best == NONE -> stop_waits(client, TIMED_OUT)
        :: else
        fi
    :: else
    fi;
    if
    :: phase[client] == RESERVING && end[client] != UNDECIDED ->
        look_whether_settled(client);
        if
        :: flag -> say_end(client)
        :: else
        fi
    :: else
    fi;
    if
    :: phase[client] == CLOSING ->
        look_whether_settled(client);
        if
        :: flag -> phase[client] = GONE
        :: else
        fi
    :: else
    fi
}

/* ShardExchange::tell_ended_waits, of all shards: only the one that did something has any. */
byte client_told, shard_told, job_told;
inline tell_ended_waits() {
    client_told = 0;
    do
    :: client_told == CLIENTS -> break
    :: else ->
        shard_told = 0;
        do
        :: shard_told == SHARDS -> break
        :: shard_told < SHARDS && ended[AT(client_told, shard_told)] != NONE ->
            job_told = ended[AT(client_told, shard_told)];
            ended[AT(client_told, shard_told)] = NONE;
            if
            :: IS_HERE(client_told, shard_told) ->
                note(client_told, shard_told, FOUND, job_told);
                decide(client_told)
            :: else -> tell(shard_told, HOME(client_told), FOUND, client_told, job_told)
            fi;
            client_told = 0; /* that may have ended others */
            shard_told = 0
        :: else -> shard_told++
        od;
        client_told++
    od
}

/* ShardExchange::take */
byte from, to, subject;
mtype kind;
inline take() {
    LANE(from, to)?kind, c, subject;
    if
    :: kind == FIND_WAITING || kind == FIND_ONLY ->
        find_here(c, to, kind == FIND_WAITING);
        tell(to, from, answer, c, best)
    :: kind == CANCEL -> waiting[AT(c, to)] = false; tell(to, from, SETTLED, c, NONE)
    :: kind == GIVE_BACK -> give_back_here(c, to, subject); tell(to, from, SETTLED, c, NONE)
    :: kind == CLOSE -> close_here(c, to); tell(to, from, SETTLED, c, NONE)
    :: kind == DELETE || kind == RELEASE -> let_go_here(c, to, subject, kind); tell(to, from, ANSWERED, c, NONE)
    :: kind == FOUND || kind == STILL_WAITS || kind == NOTHING -> note(c, from, kind, subject); decide(c)
    :: kind == SETTLED -> unsettled[AT(c, from)]--; decide(c)
    :: kind == ANSWERED ->
        phase[c] = LINE;
        if
        :: has_left[c] -> close(c); decide(c)
        :: else
        fi
    fi
}

inline let_go_here(client, shard, which, how) {
    if
    :: job[which] == RESERVED && holder[which] == client && how == DELETE -> job[which] = DELETED; holder[which] = NONE
    :: job[which] == RESERVED && holder[which] == client && how == RELEASE -> make_ready(which); serve_waiting(shard)
    :: else
    fi
}

inline let_go(which, how) {
    c = told[which];
    told[which] = NONE;
    if
    :: IS_HERE(c, which % SHARDS) -> let_go_here(c, which % SHARDS, which, how)
    :: else -> phase[c] = ASKING; tell(HOME(c), which % SHARDS, how, c, which)
    fi
}

/* Conversation::begin_reserve */
inline begin_reserve(waits) {
    reserves[c]++;
    phase[c] = RESERVING;
    end[c] = UNDECIDED;
    for (s : 0 .. SHARDS - 1) {
        part[AT(c, s)] = ASKED;
        if
        :: IS_HERE(c, s) -> find_here(c, s, waits); note(c, s, answer, best)
        :: else -> tell(HOME(c), s, (waits -> FIND_WAITING : FIND_ONLY), c, NONE)
        fi
    }
    decide(c)
}

/* What holds where no message is under way. */
bool is_quiet;
inline look() {
    is_quiet = true;
    for (n : 0 .. SHARDS * SHARDS - 1) {
        is_quiet = is_quiet && empty(lane[n])
    }
    for (c : 0 .. CLIENTS - 1) {
        PROMISE(every_question_is_answered, !is_quiet || phase[c] == LINE || phase[c] == RESERVING || phase[c] == GONE);
        if
        :: is_quiet && phase[c] == RESERVING ->
            for (s : 0 .. SHARDS - 1) {
                look_for_best(s);
                PROMISE(every_question_is_answered, part[AT(c, s)] == WAITING);
                PROMISE(nobody_waits_for_a_job_that_is_there, best == NONE)
            }
        :: is_quiet && phase[c] != RESERVING ->
            for (s : 0 .. SHARDS - 1) {
                PROMISE(only_who_reserves_waits, !waiting[AT(c, s)])
            }
        :: else
        fi
    }
#ifndef EXPIRING
    for (n : 0 .. JOBS - 1) {
        PROMISE(no_job_is_lost, !is_quiet || job[n] != RESERVED || told[n] == holder[n])
    }
#endif
}

inline look_whether_all_is_done() {
    flag = true;
    for (n : 0 .. SHARDS * SHARDS - 1) {
        flag = flag && empty(lane[n])
    }
    for (n : 0 .. CLIENTS - 1) {
        flag = flag && phase[n] == GONE
    }
    for (n : 0 .. JOBS - 1) {
        flag = flag && job[n] != UNPUT
    }
}

#define CHOOSE(variable, count) variable = 0; do :: variable + 1 < (count) -> variable++ :: break od

/* The variables of a step are no part of what follows. */
inline step_ended() {
    tell_ended_waits();
    look();
    step_forgotten()
}

inline step_forgotten() {
    c = 0; s = 0; j = 0; k = 0; n = 0; best = 0; from = 0; to = 0; subject = 0;
    client_told = 0; shard_told = 0; job_told = 0;
    flag = false; is_quiet = false; kind = 0; answer = 0
}

init {
    do
    :: atomic { /* a message arrives */
            CHOOSE(from, SHARDS);
            CHOOSE(to, SHARDS);
            if
            :: len(LANE(from, to)) > 0 -> take(); step_ended()
            :: else -> step_forgotten()
            fi
        }
    :: atomic { /* a job is put */
            CHOOSE(j, JOBS);
            if
            :: job[j] == UNPUT -> make_ready(j); to = j % SHARDS; serve_waiting(to); step_ended()
            :: else -> step_forgotten()
            fi
        }
#ifdef EXPIRING
    :: atomic { /* a reservation runs out */
            CHOOSE(j, JOBS);
            if
            :: job[j] == RESERVED -> make_ready(j); to = j % SHARDS; serve_waiting(to); step_ended()
            :: else -> step_forgotten()
            fi
        }
#endif
    :: atomic { /* a client reserves */
            CHOOSE(c, CLIENTS);
            if
            :: phase[c] == LINE && reserves[c] < RESERVES && !has_left[c] -> begin_reserve(true); step_ended()
            :: phase[c] == LINE && reserves[c] < RESERVES && !has_left[c] -> begin_reserve(false); step_ended()
            :: else -> step_forgotten()
            fi
        }
    :: atomic { /* it has waited for long enough */
            CHOOSE(c, CLIENTS);
            if
            :: phase[c] == RESERVING && end[c] == UNDECIDED -> stop_waits(c, TIMED_OUT); decide(c); step_ended()
            :: else -> step_forgotten()
            fi
        }
    :: atomic { /* it lets go of a job */
            CHOOSE(j, JOBS);
            if
            :: told[j] != NONE && phase[(told[j] == NONE -> 0 : told[j])] == LINE -> let_go(j, DELETE); step_ended()
            :: told[j] != NONE && phase[(told[j] == NONE -> 0 : told[j])] == LINE -> let_go(j, RELEASE); step_ended()
            :: else -> step_forgotten()
            fi
        }
    :: atomic { /* it leaves */
            CHOOSE(c, CLIENTS);
            if
            :: phase[c] != GONE && !has_left[c] ->
                has_left[c] = true;
                if
                :: phase[c] == LINE -> close(c)
                :: else
                fi;
                decide(c);
                step_ended()
            :: else -> step_forgotten()
            fi
        }
    :: atomic { /* all is done */
            look_whether_all_is_done();
            if
            :: flag ->
                for (n : 0 .. JOBS - 1) {
                    PROMISE(no_job_is_lost, job[n] == READY || job[n] == DELETED)
                }
                break
            :: else -> step_forgotten()
            fi
        }
    od
}
