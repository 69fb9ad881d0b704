# What shows the findings of an audit, before findings that no program had.
if(NOT TARGET flatline-program)
  return()
endif()
find_package(nlohmann_json REQUIRED)

flatline_test(audit_exports_test SOURCES audit_document_test.cpp audit_text_test.cpp cause_test.cpp flame_test.cpp
                                        readable_test.cpp LABELS audit)
target_link_libraries(audit_exports_test PRIVATE flatline-cli flatline-audit-exports nlohmann_json::nlohmann_json)

add_executable(made-exports made_exports.cpp)
target_link_libraries(made-exports PRIVATE flatline-options flatline-audit-exports)
target_include_directories(made-exports PRIVATE ${PROJECT_SOURCE_DIR}/src)
set_target_properties(made-exports PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
add_test(NAME audit.exports
         COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/exports_test.py $<TARGET_FILE:made-exports>)
set_tests_properties(audit.exports PROPERTIES LABELS audit TIMEOUT 60)

# Faults in a copy of a file of src/audit or src/cli, which the tests above must see.
if(FLATLINE_PLAIN_BUILD)
  flatline_planted_faults(
    audit.exports.planted exports_faults.py
    --linker ${CMAKE_CXX_COMPILER} --objects $<TARGET_OBJECTS:audit_exports_test>
    --made $<TARGET_OBJECTS:made-exports>
    --libraries $<TARGET_FILE:flatline-cli> $<TARGET_FILE:flatline-audit-exports> $<TARGET_FILE:flatline-bench>
    $<TARGET_FILE:flatline-symbols> $<TARGET_FILE:flatline-static> $<TARGET_FILE:GTest::gtest_main> $<TARGET_FILE:GTest::gtest>)
endif()
