/* Functions that are sections although their source says nothing: `flatline guard --section SYMBOL`. Each call of such
 * a function, from wherever, begins a section that ends when the function does: by a return, by an exception or the end
 * of its thread, or by a longjmp past it. x86-64 only. */
#ifndef FLATLINE_GUARD_NAMED_SECTIONS_H
#define FLATLINE_GUARD_NAMED_SECTIONS_H

/* At the program's start, and after each library that was loaded later: looks for the symbols in what is loaded, and
 * changes the functions' entries. Ends the process if one cannot be changed. */
void named_sections_look(void);

/* At the end of a thread: nothing of it is used any longer. */
void named_sections_end_thread(void);

#endif
