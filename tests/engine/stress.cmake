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

# `make check` runs ten million tasks. A test gets labels of its own only once it is known.
add_test(NAME engine.ten_million_tasks_end_once COMMAND engine_many_tasks_test)
set_tests_properties(engine.ten_million_tasks_end_once PROPERTIES LABELS long ENVIRONMENT FLATLINE_TEST_SCALE=21 TIMEOUT
                                                                  600)

# `make soak` runs it for 20 minutes.
find_package(Threads REQUIRED)
add_executable(engine_soak soak.cpp)
target_link_libraries(engine_soak PRIVATE flatline-options flatline::static Threads::Threads)
target_include_directories(engine_soak PRIVATE ${PROJECT_SOURCE_DIR}/tests)
target_compile_options(engine_soak PRIVATE -Wno-missing-field-initializers)
set_target_properties(engine_soak PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
add_dependencies(threads-tests engine_soak)
add_test(NAME engine.submitters_that_come_and_go_lose_no_grant COMMAND engine_soak 5)
set_tests_properties(engine.submitters_that_come_and_go_lose_no_grant PROPERTIES LABELS "engine;threads" TIMEOUT 120)
add_test(NAME engine.soak_of_a_minute COMMAND engine_soak 60)
set_tests_properties(engine.soak_of_a_minute PROPERTIES LABELS long TIMEOUT 300 COST 60)

# Faults in a copy of src/engine, which the tests above must see.
if(FLATLINE_PLAIN_BUILD AND CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  set(stress_objects $<TARGET_OBJECTS:engine_soak>)
  foreach(test many_tasks surge waiting stopping steady_state refused_calls)
    list(APPEND stress_objects $<TARGET_OBJECTS:engine_${test}_test>)
  endforeach()
  flatline_planted_faults(
    engine.stress.planted stress_faults.py
    --compiler ${CMAKE_C_COMPILER} --linker ${CMAKE_CXX_COMPILER} --objects ${stress_objects} --libraries
    $<TARGET_FILE:flatline::static> $<TARGET_FILE:GTest::gtest_main> $<TARGET_FILE:GTest::gtest>)
endif()

# Seeing the engine.
flatline_engine_stress(engine_statistics_test SOURCES statistics_test.cpp LABELS core)
if(FLATLINE_PLAIN_BUILD) # sanitizers keep signals back, and put frames of their own on the stack
  flatline_engine_stress(engine_watchdog_test SOURCES watchdog_test.cpp LABELS engine)
  set_target_properties(engine_watchdog_test PROPERTIES ENABLE_EXPORTS ON)
endif()

# What Prometheus would scrape, read by its own client. The package is for the system's own Python.
if(TARGET example-engine_overload)
  set(metrics ${CMAKE_CURRENT_BINARY_DIR}/metrics.txt)
  add_test(NAME engine.overload_writes_metrics COMMAND example-engine_overload 0.5 ${metrics})
  set_tests_properties(engine.overload_writes_metrics PROPERTIES LABELS engine TIMEOUT 60 FIXTURES_SETUP engine_metrics)
  add_test(NAME engine.metrics_are_read_by_prometheus COMMAND /usr/bin/python3 -B
           ${CMAKE_CURRENT_SOURCE_DIR}/metrics_test.py ${metrics})
  set_tests_properties(engine.metrics_are_read_by_prometheus PROPERTIES LABELS engine TIMEOUT 60 SKIP_RETURN_CODE 77
                                                                        FIXTURES_REQUIRED engine_metrics)
endif()

# Faults in a copy of a file of what shows the engine, which its tests must see.
if(FLATLINE_PLAIN_BUILD AND NOT CMAKE_CROSSCOMPILING)
  flatline_planted_faults(
    engine.seeing_planted seeing_faults.py
    --compiler ${CMAKE_C_COMPILER} --linker ${CMAKE_CXX_COMPILER}
    --test "engine_statistics_test=$<JOIN:$<TARGET_OBJECTS:engine_statistics_test>,:>"
    --test "engine_watchdog_test=$<JOIN:$<TARGET_OBJECTS:engine_watchdog_test>,:>"
    --libraries $<TARGET_FILE:flatline-static> $<TARGET_FILE:GTest::gtest_main> $<TARGET_FILE:GTest::gtest>)
endif()
