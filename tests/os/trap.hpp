// Accesses that must end the process. A child process tries them.
#ifndef FLATLINE_TESTS_OS_TRAP_HPP
#define FLATLINE_TESTS_OS_TRAP_HPP

#include <gtest/gtest.h>

#include <csignal>

namespace test {

inline void read(const void *address) { (void)*static_cast<const volatile char *>(address); }
inline void write(void *address) { *static_cast<volatile char *>(address) = 1; }

// Whether `statement` dies of SIGSEGV. A sanitizer turns the signal into a report and an exit of its own.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(__clang__)
#define EXPECT_TRAP(statement) EXPECT_DEATH(statement, "")
#else
#define EXPECT_TRAP(statement) EXPECT_EXIT(statement, testing::KilledBySignal(SIGSEGV), "")
#endif

} // namespace test

#endif
