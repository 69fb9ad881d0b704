# <flatline/engine.hpp>: what it promises, also without exceptions, and what it must refuse to compile. Its planted faults
# are in tests/resource, with those of the other C++ headers.
set(HEAP_CALLS ${PROJECT_SOURCE_DIR}/tests/resource/heap_calls.cpp)
flatline_test(engine_hpp_test INLINED SOURCES engine_hpp_test.cpp ${HEAP_CALLS} LABELS "core;engine;threads")

add_executable(engine-without-exceptions without_exceptions.cpp)
target_link_libraries(engine-without-exceptions PRIVATE flatline-options flatline::static coverage-of-children)
target_compile_options(engine-without-exceptions PRIVATE -std=c++17 -fno-exceptions -fno-rtti)
add_dependencies(core-tests engine-without-exceptions)
add_test(NAME engine.without_exceptions_or_rtti COMMAND engine-without-exceptions)
set_tests_properties(engine.without_exceptions_or_rtti PROPERTIES LABELS "core;engine" TIMEOUT 60)

function(flatline_refused_to_compile fault message)
  add_test(NAME engine.a_task_is_refused_by_the_compiler_for_its_${fault}
           COMMAND ${CMAKE_CXX_COMPILER} -std=c++17 -fsyntax-only -I${PROJECT_SOURCE_DIR}/include -D${ARGN}
                   ${CMAKE_CURRENT_SOURCE_DIR}/refused_to_compile.cpp)
  set_tests_properties(engine.a_task_is_refused_by_the_compiler_for_its_${fault}
                       PROPERTIES LABELS "build;engine" TIMEOUT 60 PASS_REGULAR_EXPRESSION "error: .*${message}")
endfunction()
flatline_refused_to_compile(alignment "a task needs at most an alignment of 16 bytes" ALIGNMENT)
flatline_refused_to_compile(alignment_with_a_handle "a task needs at most an alignment of 16 bytes"
                            ALIGNMENT_WITH_A_HANDLE)
flatline_refused_to_compile(results_alignment "a result needs at most an alignment of 16 bytes" ALIGNMENT_OF_THE_RESULT)
flatline_refused_to_compile(results_destructor "the result is left in a block" RESULT_WITH_A_DESTRUCTOR)
flatline_refused_to_compile(result "the callable returns the handle's type of result" RESULT_OF_ANOTHER_TYPE)
flatline_refused_to_compile(argument "a task is called with" ARGUMENT)
add_test(NAME engine.a_task_without_these_faults_compiles
         COMMAND ${CMAKE_CXX_COMPILER} -std=c++17 -fsyntax-only -I${PROJECT_SOURCE_DIR}/include -DWITHOUT_FAULT
                 ${CMAKE_CURRENT_SOURCE_DIR}/refused_to_compile.cpp)
set_tests_properties(engine.a_task_without_these_faults_compiles PROPERTIES LABELS "build;engine" TIMEOUT 60)
