#define _GNU_SOURCE
#include "smaps.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Bytes of a line that are kept, terminator included. Only lines that end in the name of a file are longer. */
#define LINE 256

/* The next byte, or -1 at the end. */
static int next_byte(smaps_reader *reader) {
    if (reader->at == reader->end) {
        ssize_t length;
        do {
            length = read(reader->file, reader->buffer, sizeof reader->buffer);
        } while (length < 0 && errno == EINTR);
        reader->failed = length < 0;
        if (length <= 0) return -1;
        reader->at = 0;
        reader->end = (size_t)length;
    }
    return (unsigned char)reader->buffer[reader->at++];
}

/* The next line without its newline, cut to LINE - 1 bytes; false iff there is none. */
static bool next_line(smaps_reader *reader, char *line) {
    size_t length = 0;
    int byte = next_byte(reader);
    if (byte < 0) return false;
    for (; byte >= 0 && byte != '\n'; byte = next_byte(reader)) {
        if (length < LINE - 1) line[length++] = (char)byte;
    }
    line[length] = '\0';
    return true;
}

/* The bytes in a line "NAME:   N kB" that begins with `name`; else 0. */
static size_t bytes_of(const char *line, const char *name) {
    uint64_t kib = 0;
    size_t length = strlen(name);
    if (strncmp(line, name, length) != 0 || line[length] != ':') return 0;
    if (sscanf(line + length + 1, "%12" SCNu64, &kib) != 1) return 0;
    return (size_t)kib * 1024;
}

/* Whether the line of flags has `flag`, two letters: "VmFlags: rd wr mr lo ". */
static bool has_flag(const char *line, const char *flag) {
    const char *at = line;
    while ((at = strstr(at + 1, flag)) != NULL) {
        if (at[-1] == ' ' && (at[2] == ' ' || at[2] == '\0')) return true;
    }
    return false;
}

bool flat_smaps_next(smaps_reader *reader, smaps_mapping *mapping) {
    static const char *const kinds[] = {"AnonHugePages", "ShmemPmdMapped", "FilePmdMapped", "Shared_Hugetlb",
                                        "Private_Hugetlb"};
    char line[LINE];
    smaps_mapping found = {0};
    while (next_line(reader, line)) {
        uint64_t start, end;
        if (sscanf(line, "%16" SCNx64 "-%16" SCNx64 " ", &start, &end) == 2) {
            found = (smaps_mapping){.start = start, .end = end};
            continue;
        }
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) found.huge += bytes_of(line, kinds[i]);
        size_t page_size = bytes_of(line, "KernelPageSize");
        if (page_size != 0) found.page_size = page_size;
        if (strncmp(line, "VmFlags:", 8) != 0) continue;
        /* The last line of a mapping. */
        found.locked = has_flag(line, "lo") || has_flag(line, "ht");
        *mapping = found;
        return true;
    }
    return false;
}
