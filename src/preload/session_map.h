/* Memory that a program under observation and its observer share. The observer owns it and names it in the program's
 * environment; each process that the program becomes or starts maps it anew. */
#ifndef FLATLINE_PRELOAD_SESSION_MAP_H
#define FLATLINE_PRELOAD_SESSION_MAP_H

#include <stddef.h>

/* Maps the file that the environment variable `variable` names, of `size` bytes, shared and writable. NULL iff the
 * variable is not set, or the file cannot be opened, has another size, or cannot be mapped. It costs no descriptor
 * afterwards. It neither allocates nor changes errno. */
void *session_map(const char *variable, size_t size);

#endif
