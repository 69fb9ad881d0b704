// A library that is refused memory by each operator new: with a handler that gives up, and with one that throws.
#include "refusals.hpp"

extern "C" int thrower();

int thrower() { return test::refusals(); }
