/* A library that can be preloaded and has no malloc: what serves is still the C library's. */
int flatline_test_no_malloc(void);
int flatline_test_no_malloc(void) { return 0; }
