// A library that the tests' programs load while they run.
#include "section.hpp"

#include <cstdlib>

namespace {
void *volatile kept;
}

extern "C" EXPORTED void late_call() {
    kept = malloc(70); // guard: malloc
    free(kept);        // guard: free
}
