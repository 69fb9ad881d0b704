// A library whose operators new are all refused memory: with a handler that gives up, and with one that throws.
#include "refusals.hpp"

extern "C" int thrower();

int thrower() { return test::refusals(); }
