/* An address of code in words, without the heap and without a lock: dladdr takes the loader's, which a thread that
 * stands in dlopen holds. The code's library must not be unloaded meanwhile. */
#ifndef FLATLINE_OS_ADDRESS_TEXT_H
#define FLATLINE_OS_ADDRESS_TEXT_H

#include <stddef.h>

/* Writes "name+0x1f (file)" for an exported function, "file+0x401f" for other code, which addr2line reads, and the
 * address alone if no file of the process has it. Cut off to `size` bytes, the 0 at the end included. */
void flat_address_text(const void *address, char *text, size_t size);

#endif
