// What each program is given to do. Everything is generated from `scale` alone: at 1 a program runs for some seconds,
// which is what figures are made of; tests take less.
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
