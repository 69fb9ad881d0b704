/* /proc/self/smaps: the kernel's report on each mapping of the process, read one mapping at a time without the heap. */
#ifndef FLATLINE_OS_SMAPS_H
#define FLATLINE_OS_SMAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct smaps_mapping {
    uint64_t start, end;
    size_t page_size; /* bytes */
    size_t huge;      /* bytes on huge pages of either kind */
    bool locked;      /* by mlock, or on explicit huge pages: never paged out */
} smaps_mapping;

typedef struct smaps_reader {
    int file;
    bool failed;       /* the system did not return the rest */
    size_t at, end;    /* [at, end) of the buffer is still to be read */
    char buffer[4096]; /* the kernel returns about a page at once */
} smaps_reader;

/* Begins to read an open file, at its present position. */
static inline void flat_smaps_begin(smaps_reader *reader, int file) {
    reader->file = file;
    reader->failed = false;
    reader->at = reader->end = 0;
}

/* The next mapping; false iff there is none, or reading `failed`. Text that is not from the kernel is skipped. */
bool flat_smaps_next(smaps_reader *reader, smaps_mapping *mapping);

#ifdef __cplusplus
}
#endif
#endif
