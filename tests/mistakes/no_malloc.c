/* A library that can be preloaded but has no malloc, so the C library's malloc still serves the calls. */
int flatline_test_no_malloc(void);
int flatline_test_no_malloc(void) { return 0; }
