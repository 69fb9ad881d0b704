// A program of nothing but refusals, to be linked in every way.
#include "refusals.hpp"

int main() { return test::refusals(); }
