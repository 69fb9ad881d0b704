#include <flatline/version.h>

const char *flat_version(void) { return FLAT_VERSION_STRING; }
