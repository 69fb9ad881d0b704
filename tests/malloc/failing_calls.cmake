# The malloc while its calls of the system fail: at random, and under filters. `make failing-calls` runs the campaign in
# full, a million operations a policy; what is here takes some seconds each.
add_library(failing-calls SHARED failing_calls.c)
target_link_libraries(failing-calls PRIVATE flatline-options)
target_compile_options(failing-calls PRIVATE -fno-builtin)
add_executable(failing_round failing_round.cpp filtered_calls.c)
target_link_libraries(failing_round PRIVATE flatline-options Threads::Threads)
target_include_directories(failing_round PRIVATE ${PROJECT_SOURCE_DIR}/tests)
target_compile_options(failing_round PRIVATE -fno-builtin)
set_target_properties(failing-calls failing_round PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests
                                                             LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)

set(campaign ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/failing_campaign.py
             --round $<TARGET_FILE:failing_round> --failing $<TARGET_FILE:failing-calls>
             --malloc $<TARGET_FILE:flatline-malloc>)
foreach(policy latency balanced memory)
  add_test(NAME malloc.failing_calls.${policy} COMMAND ${campaign} --policy ${policy} --operations 20000)
  add_test(NAME malloc.failing_calls.in_a_guest_with_${policy} CONFIGURATIONS guest
           COMMAND ${campaign} --policy ${policy} --operations 20000 --fails 4)
  set_tests_properties(malloc.failing_calls.${policy} PROPERTIES LABELS "malloc;threads" TIMEOUT 600)
  set_tests_properties(malloc.failing_calls.in_a_guest_with_${policy} PROPERTIES LABELS guest TIMEOUT 600)
endforeach()
add_dependencies(guest-tests failing_round failing-calls)

# Faults in what the malloc sees of its calls, as if it did not look: the campaign must see each.
function(flatline_campaign_fault name finding)
  add_test(NAME malloc.planted.failing_calls.${name}
           COMMAND ${campaign} --operations 20000 --seed 1 --findings 1 ${ARGN})
  set_tests_properties(malloc.planted.failing_calls.${name}
                       PROPERTIES LABELS planted TIMEOUT 300 PASS_REGULAR_EXPRESSION "${finding}")
endfunction()
set(others_work "munmap=0 mprotect=0 old_mremap=0 strangers=0")
flatline_campaign_fault(madvise_not_looked_at "that is not zero" --findings 8
                        --set "hidden=madvise mmap=0 mremap=0 ${others_work}")
flatline_campaign_fault(mremap_not_looked_at "SIGSEGV|has lost what it held" --findings 8
                        --set "hidden=mremap mremap=2 mmap=0 madvise=0 ${others_work}")
flatline_campaign_fault(mmap_not_looked_at "SIGSEGV" --set "hidden=mmap mremap=0 madvise=0 ${others_work}")
flatline_campaign_fault(no_memory_without_a_reason "gives NULL, and no call for memory has failed"
                        --set "uncounted=mmap mmap=1")
flatline_campaign_fault(a_call_never_fails "madvise has failed 0 times, and not 3" --findings 1000 --operations 2000
                        --fails 3 --set "madvise=0")
flatline_campaign_fault(no_call_of_it_is_seen "no call of mmap was seen" --operations 1000 --set "of=libnobody")

# A block of each kind, under each filter: from main on, and in all of a program that is executed under it. Under
# `mprotect` none is: the loader itself would fail.
# An emulated machine has the time for one policy.
set(labels_latency "malloc;threads")
set(labels_balanced "malloc;threads;guest")
set(labels_memory "malloc;threads")
foreach(filter madvise_but_dontneed madvise mremap mprotect mprotect_to_write populate populate_unknown
               madvise_but_dontneed_kills)
  foreach(from main exec)
    if(filter STREQUAL "mprotect" AND from STREQUAL "exec")
      continue()
    endif()
    foreach(policy latency balanced memory)
      set(name malloc.filtered_calls.${filter}_from_${from}.${policy})
      add_test(NAME ${name} COMMAND failing_round 4 6000 3 ${filter} ${from})
      set_tests_properties(
        ${name} PROPERTIES LABELS "${labels_${policy}}" TIMEOUT 120
                           ENVIRONMENT "LD_PRELOAD=$<TARGET_FILE:flatline-malloc>;FLATLINE_POLICY=${policy}")
    endforeach()
  endforeach()
endforeach()
