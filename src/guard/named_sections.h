/* Functions that are sections although their source says nothing: `flatline guard --section SYMBOL`. */
#ifndef FLATLINE_GUARD_NAMED_SECTIONS_H
#define FLATLINE_GUARD_NAMED_SECTIONS_H

/* At the program's start, and after each library that was loaded later: looks for the symbols that are still unknown.
 */
static inline void named_sections_look(void) {}
static inline void named_sections_unhook(void) {}
static inline void named_sections_hook(void) {}

#endif
