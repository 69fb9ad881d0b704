// Checks the malloc's own tables while no thread calls it, by walking all of them. For programs that are linked with
// the malloc as an archive.
#ifndef FLATLINE_TESTS_MALLOC_INVARIANTS_HPP
#define FLATLINE_TESTS_MALLOC_INVARIANTS_HPP

#include <string>

namespace test {

// Returns the first thing that is wrong, or an empty string: each page is free, part of a huge block, or in a heap's
// chunk, where it is free or part of one span or large block; each block of a span is live, cached, free or has never
// been handed out; and every count and list says the same. Allocates nothing unless something is wrong.
std::string broken_invariant();

} // namespace test

#endif
