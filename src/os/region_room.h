/* How large a file is, and what its file system has room for. */
#ifndef FLATLINE_OS_REGION_ROOM_H
#define FLATLINE_OS_REGION_ROOM_H

#include <stdint.h>

/* Makes a new file `size` bytes long. Returns 0, or the error; what exceeds RLIMIT_FSIZE is one (EFBIG) and no signal.
 */
int flat_set_file_size(int file, uint64_t size);

/* Makes the file system hold room ready for `size` bytes that lie in the file. Returns 0, or the error. */
int flat_reserve_room(int file, uint64_t offset, uint64_t size);

#endif
