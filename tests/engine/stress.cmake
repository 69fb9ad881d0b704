# The engine under threads, stops and time. Options and tasks name the members that are not zero, and only those.
function(flatline_engine_stress name)
  flatline_test(${name} ${ARGN})
  target_compile_options(${name} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wno-missing-field-initializers>)
endfunction()

flatline_engine_stress(engine_many_tasks_test SOURCES many_tasks_test.cpp LABELS core)
flatline_engine_stress(engine_surge_test SOURCES surge_test.cpp LABELS core)
flatline_engine_stress(engine_waiting_test SOURCES waiting_test.cpp LABELS core guest)

# What takes processes of its own: submitters that are stopped, and filters of system calls, which a sanitizer makes too.
if(FLATLINE_PLAIN_BUILD)
  flatline_engine_stress(engine_refused_calls_test SOURCES refused_calls_test.cpp LABELS engine guest)
  flatline_engine_stress(engine_steady_state_test SOURCES steady_state_test.cpp ../resource/heap_calls.cpp LABELS engine
                         guest)
  if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
    flatline_engine_stress(engine_stopping_test SOURCES stopping_test.cpp LABELS engine)
  endif()
endif()
