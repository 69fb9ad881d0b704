// A program that does nothing but the refusals, to be linked in every way.
#include "refusals.hpp"

int main() { return test::refusals(); }
