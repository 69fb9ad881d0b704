/* The size of a file, and the room for it in its file system. */
#ifndef FLATLINE_OS_REGION_ROOM_H
#define FLATLINE_OS_REGION_ROOM_H

#include <stdint.h>

/* Makes a new file `size` bytes long. Returns 0, or the error: EFBIG above RLIMIT_FSIZE, without a signal. */
int flat_set_file_size(int file, uint64_t size);

/* Reserves room in the file system for `size` bytes of the file. Returns 0, or the error. */
int flat_reserve_room(int file, uint64_t offset, uint64_t size);

#endif
