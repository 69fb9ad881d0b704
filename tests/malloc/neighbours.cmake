# Programs and libraries that know nothing of the malloc, for the tests of how it gets on with them.
function(flatline_stranger kind name source)
  if(kind STREQUAL "library")
    add_library(${name} SHARED ${source})
    set_target_properties(${name} PROPERTIES C_VISIBILITY_PRESET default CXX_VISIBILITY_PRESET default)
  else()
    add_executable(${name} ${source})
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  endif()
  target_link_libraries(${name} PRIVATE flatline-options ${CMAKE_DL_LIBS})
  # Each call counts: none may be known to do nothing.
  target_compile_options(${name} PRIVATE -fno-builtin $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-sized-deallocation>)
endfunction()

flatline_stranger(program malloc_early early.c)
flatline_stranger(program malloc_host host.c)
flatline_stranger(library malloc-guest guest.c)
flatline_stranger(library malloc-thrower thrower.cpp)
flatline_stranger(library malloc-thrower-whole thrower.cpp)
target_link_options(malloc-thrower-whole PRIVATE -static-libstdc++ -static-libgcc)
set(throwers malloc-thrower malloc-thrower-whole)
find_program(CLANG_OF_LIBCXX clang++-19)
if(CLANG_OF_LIBCXX AND EXISTS /usr/lib/llvm-19/lib/libc++abi.so)
  # The second C++ library, which only a second compiler knows.
  set(of_libcxx ${CMAKE_CURRENT_BINARY_DIR}/libmalloc-thrower-libcxx.so)
  add_custom_command(
    OUTPUT ${of_libcxx}
    COMMAND ${CLANG_OF_LIBCXX} -std=c++20 -stdlib=libc++ -fno-builtin -w -O1 -shared -fPIC
            -Wl,-rpath,/usr/lib/llvm-19/lib ${CMAKE_CURRENT_SOURCE_DIR}/thrower.cpp -o ${of_libcxx}
    DEPENDS thrower.cpp refusals.hpp)
  add_custom_target(malloc-thrower-libcxx DEPENDS ${of_libcxx})
  add_dependencies(malloc_neighbours_test malloc-thrower-libcxx)
  set(of_libcxx ", \"${of_libcxx}\"")
endif()
add_dependencies(malloc_neighbours_test malloc_host malloc_early malloc_replaced_without
                 malloc_replaced_aligned_without malloc-guest ${throwers})
add_executable(malloc_neighbours_archive neighbours_test.cpp)
target_link_libraries(malloc_neighbours_archive PRIVATE flatline-options flatline::malloc-static GTest::gtest_main
                                                        ${CMAKE_DL_LIBS})
target_compile_options(malloc_neighbours_archive PRIVATE -fno-builtin)
set_target_properties(malloc_neighbours_archive PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
add_dependencies(malloc_neighbours_archive malloc-guest)
# But what preloads this program's library.
add_test(NAME malloc.neighbours_of_the_archive
         COMMAND malloc_neighbours_archive --gtest_filter=*c_library*:*plugin_shares*:*plugin_that*:-*settings*)
set_tests_properties(malloc.neighbours_of_the_archive PROPERTIES LABELS malloc)
set(neighbours_definitions
    FLATLINE_GUEST="$<TARGET_FILE:malloc-guest>" FLATLINE_HOST="$<TARGET_FILE:malloc_host>"
          FLATLINE_EARLY="$<TARGET_FILE:malloc_early>" FLATLINE_REPLACED="$<TARGET_FILE:malloc_replaced_without>"
          FLATLINE_REPLACED_ALIGNED="$<TARGET_FILE:malloc_replaced_aligned_without>"
          "FLATLINE_THROWERS=\"$<TARGET_FILE:malloc-thrower>\", \"$<TARGET_FILE:malloc-thrower-whole>\"${of_libcxx}")
target_compile_definitions(malloc_neighbours_test PRIVATE ${neighbours_definitions})
target_compile_definitions(malloc_neighbours_archive PRIVATE ${neighbours_definitions})

# The operators of C++, in each way in which a program can come by them: none of this library's, to show that the
# program demands what C++ does; this library's preloaded, linked, and out of the archive, beside a C++ library that is shared,
# part of the program, or as all else part of it.
foreach(program refused replaced replaced_aligned)
  foreach(way without preloaded linked linked_whole archive archive_whole static)
    set(name malloc_${program}_${way})
    flatline_stranger(program ${name} ${program}.cpp)
    if(way MATCHES "linked")
      target_link_libraries(${name} PRIVATE flatline::malloc)
    elseif(way MATCHES "archive|static")
      target_link_libraries(${name} PRIVATE flatline::malloc-static)
    endif()
    if(way MATCHES "whole")
      target_link_options(${name} PRIVATE -static-libstdc++)
    elseif(way STREQUAL "static")
      target_link_options(${name} PRIVATE -static)
    endif()
    add_test(NAME malloc.operators_${program}_${way} COMMAND ${name})
    set_tests_properties(malloc.operators_${program}_${way} PROPERTIES LABELS malloc)
    if(way STREQUAL "preloaded")
      set_tests_properties(malloc.operators_${program}_${way}
                           PROPERTIES ENVIRONMENT "LD_PRELOAD=$<TARGET_FILE:flatline-malloc>")
    endif()
  endforeach()
endforeach()

# `balanced` is what the tests have by themselves.
foreach(policy latency memory)
  foreach(part neighbours statistics operators)
    add_test(NAME malloc.${part}_with_${policy} COMMAND malloc_${part}_test)
    set_tests_properties(malloc.${part}_with_${policy} PROPERTIES LABELS malloc ENVIRONMENT FLATLINE_POLICY=${policy})
  endforeach()
endforeach()
