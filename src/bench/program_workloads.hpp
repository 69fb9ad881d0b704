// The work of each program. It is generated from `scale` alone: at 1 a program runs for some seconds, which reported
// figures need; tests use less.
#pragma once

#include "program.hpp"

namespace flat::bench {

Work redis_work(double scale);
Work sqlite_work(double scale);
Work z3_work(double scale);
Work lua_work(double scale);
Work jq_work(double scale);
Work python_work(double scale);
Work perl_work(double scale);
Work compiler_work(double scale);

} // namespace flat::bench
