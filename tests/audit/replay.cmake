# From a recording to a plan, and to replays on other allocators: what the parts promise, and the program.
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
flatline_test(audit_blocks_test SOURCES block_history_test.cpp LABELS audit)
target_link_libraries(audit_blocks_test PRIVATE flatline-audit-core fmt::fmt)
flatline_test(replay_result_test SOURCES replay_result_test.cpp replay_work_test.cpp LABELS audit)
target_link_libraries(replay_result_test PRIVATE flatline-cli nlohmann_json::nlohmann_json)
foreach(test audit_blocks_test replay_result_test)
  target_include_directories(${test} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/tests)
endforeach()

set(driver ${PROJECT_SOURCE_DIR}/src/bench/driver)
add_executable(replay_order replay_backend.c ${driver}/replay.c ${driver}/core.c $<TARGET_OBJECTS:bench-harness>)
target_include_directories(replay_order PRIVATE ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(replay_order PRIVATE flatline-options Threads::Threads)
set_target_properties(replay_order PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${outputs})
add_test(NAME audit.replay_driver
         COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/replay_driver_test.py
                 $<TARGET_FILE:replay_order> $<TARGET_FILE:bench-replay-pool>)

audited_program(phased phased.c)
target_include_directories(phased PRIVATE ${PROJECT_SOURCE_DIR}/include)
add_test(NAME audit.recorded_plan
         COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/recorded_plan_test.py
                 $<TARGET_FILE:flatline-program> $<TARGET_FILE:phased>)
set_tests_properties(audit.replay_driver audit.recorded_plan PROPERTIES LABELS audit TIMEOUT 120)

# Faults in a copy of a source, which the tests above must see.
if(FLATLINE_PLAIN_BUILD)
  flatline_planted_faults(
    audit.replay_planted replay_faults.py
    --c-compiler ${CMAKE_C_COMPILER} --linker ${CMAKE_CXX_COMPILER} --here ${CMAKE_CURRENT_SOURCE_DIR}
    --blocks-objects $<TARGET_OBJECTS:audit_blocks_test> --result-objects $<TARGET_OBJECTS:replay_result_test>
    --libraries $<TARGET_FILE:flatline-cli> $<TARGET_FILE:flatline-audit-core> $<TARGET_FILE:flatline-audit-exports>
                $<TARGET_FILE:flatline-bench> $<TARGET_FILE:flatline-plan> $<TARGET_FILE:flatline-prove>
                $<TARGET_FILE:flatline-simulate> $<TARGET_FILE:flatline-report> $<TARGET_FILE:flatline-symbols>
                $<TARGET_FILE:flatline-static>)
endif()
