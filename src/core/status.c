#include <flatline/status.h>

const char *flat_status_string(flat_status status) {
    switch (status) {
    case FLAT_OK: return "ok";
    case FLAT_INVALID_ARGUMENT: return "invalid argument";
    case FLAT_OUT_OF_MEMORY: return "out of memory";
    case FLAT_DOUBLE_FREE: return "double free";
    case FLAT_INTERIOR_POINTER: return "pointer into the interior of a block";
    case FLAT_FOREIGN_POINTER: return "pointer outside every block";
    case FLAT_CORRUPTED: return "corrupted metadata";
    case FLAT_NOT_PERMITTED: return "not permitted by a limit or a missing privilege";
    case FLAT_UNAVAILABLE: return "not available on this system";
    case FLAT_NO_GRANT: return "no grant of this class is left";
    case FLAT_RING_FULL: return "the ring of inline payloads is full";
    case FLAT_DEADLINE_PAST: return "the deadline has passed";
    case FLAT_DRAINING: return "the engine takes no more tasks";
    case FLAT_STALE_TICKET: return "the task is done";
    case FLAT_TIMED_OUT: return "timed out";
    }
    return "unknown status";
}
