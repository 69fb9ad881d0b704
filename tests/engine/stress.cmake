# The engine under threads, stops and time. Options and tasks name the members that are not zero, and only those.
function(flatline_engine_stress name)
  flatline_test(${name} ${ARGN})
  target_compile_options(${name} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wno-missing-field-initializers>)
endfunction()

flatline_engine_stress(engine_many_tasks_test SOURCES many_tasks_test.cpp LABELS core)

if(FLATLINE_PLAIN_BUILD AND CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  flatline_engine_stress(engine_stopping_test SOURCES stopping_test.cpp LABELS engine)
endif()
flatline_engine_stress(engine_surge_test SOURCES surge_test.cpp LABELS core)
