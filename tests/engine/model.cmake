# The protocol between submitters and workers, searched through by spin: every order in which the steps of its threads
# can come. The models have the steps of the code: tests/percore compares them.
set(MODELS ${CMAKE_CURRENT_SOURCE_DIR}/model)
set(sleep ${MODELS}/sleep.pml)
set(ending ${MODELS}/ending.pml)
set(lane ${MODELS}/lane.pml)
set(lanes ${MODELS}/lanes.pml)

function(flatline_planted_engine_search name finding)
  flatline_search(planted.engine_model_${name} --expect ${finding} ${ARGN})
  set_tests_properties(planted.engine_model_${name} PROPERTIES LABELS "model;planted")
endfunction()

# One thread that sleeps, and two or three that tell it something; a store buffer at each. By membarrier, and by a fence
# of each side's own; and where one of those that tell stops for ever.
flatline_search(engine.no_wake_up_is_lost ${sleep})
flatline_search(engine.no_wake_up_is_lost_from_one_teller ${sleep} -DTELLERS=1 -DTELLS=4)
flatline_search(engine.no_wake_up_is_lost_with_a_fence_on_each_side ${sleep} -DFENCED)
flatline_search(engine.no_wake_up_is_lost_with_three_tellers ${sleep} -DFENCED -DTELLERS=3 -DTELLS=1)
flatline_search(engine.nobody_else_is_unheard_where_a_teller_stops ${sleep} -DSTOPPABLE)
flatline_search(engine.nobody_else_is_unheard_where_a_teller_stops_with_a_fence_on_each_side ${sleep} -DSTOPPABLE
                -DFENCED)

# Two workers, whose tasks submit tasks to each other, and submitters outside with a store buffer each.
flatline_search(engine.a_drain_is_done_when_all_is_done ${ending})
flatline_search(engine.a_drain_is_done_when_all_is_done_with_two_submitters ${ending} -DOUTSIDE=2 -DPOSTS=1)
flatline_search(engine.a_drain_is_done_when_all_is_done_with_a_fence_on_each_side ${ending} -DFENCED)
flatline_search(engine.a_stop_is_done_when_all_is_done ${ending} -DENDERS=1)
flatline_search(engine.a_drain_beside_a_stop_does_not_undo_it ${ending} -DENDERS=2)
flatline_search(engine.a_drain_is_not_done_while_a_submitter_is_stopped_inside ${ending} -DOUTSIDE=2 -DPOSTS=1
                -DSTOPPABLE)
flatline_search(engine.what_comes_in_as_its_worker_leaves_is_completed ${ending} -DENDS)
flatline_search(engine.what_comes_in_as_its_worker_leaves_is_completed_with_a_fence_on_each_side ${ending} -DENDS
                -DFENCED)

# A lane: descriptors there, grants and completions back, cancellations; by one owner, by one that ends anywhere, and by
# a second one after that.
flatline_search(engine.no_task_is_lost_or_run_twice_with_one_grant ${lane} -DGRANTS=1 -DTASKS=5)
flatline_search(engine.no_task_is_lost_or_run_twice_with_two_grants ${lane} -DTASKS=4)
flatline_search(engine.no_task_is_lost_or_run_twice_where_one_grant_is_cancelled ${lane} -DGRANTS=1 -DTASKS=3
                -DCANCELS=3)
flatline_search(engine.no_task_is_lost_or_run_twice_where_two_grants_are_cancelled ${lane} -DTASKS=3 -DCANCELS=2)
flatline_search(engine.a_drain_ends_where_a_submitter_ended ${lane} -DTASKS=3 -DCANCELS=1 -DENDS)
flatline_search(engine.no_grant_of_a_submitter_that_ended_is_lost ${lane} -DTASKS=2 -DOWNERS=2 -DENDS)
flatline_search(engine.no_grant_of_a_submitter_that_ended_while_it_cancelled_is_lost ${lane} -DTASKS=1 -DCANCELS=1
                -DOWNERS=2 -DENDS)

# Threads that come, own a lane, and leave or end.
flatline_search(engine.a_lane_has_one_owner ${lanes} -DTHREADS=3)
flatline_search(engine.a_lane_has_one_owner_where_there_are_two ${lanes} -DLANES=2)
flatline_search(engine.a_worker_is_one_thread ${lanes} -DWORKER)

# Errors that one could make in the protocol, each found by the promise that it breaks.
foreach(error looks_first no_fence no_fence_of_all wake_without_a_mark sleeps_without_number)
  string(TOUPPER ${error} ERROR)
  flatline_planted_engine_search(${error} no_wake_up_is_lost ${sleep} -DFAULT_${ERROR})
endforeach()
flatline_planted_engine_search(no_light_fence no_wake_up_is_lost ${sleep} -DFENCED -DFAULT_NO_LIGHT_FENCE)
flatline_planted_engine_search(no_fence_of_the_sleeper no_wake_up_is_lost ${sleep} -DFENCED -DFAULT_NO_FENCE)
flatline_planted_engine_search(mark_by_store no_wake_up_is_lost ${sleep} -DSTOPPABLE -DFAULT_MARK_BY_STORE)
flatline_planted_engine_search(one_wakes no_wake_up_is_lost ${sleep} -DSTOPPABLE -DFAULT_ONE_WAKES)
flatline_planted_engine_search(every_tell_wakes a_teller_wakes_once_from_each_sleep ${sleep} -DFAULT_EVERY_TELL_WAKES)

foreach(error posted_after_publish posted_read_first taken_for_finished)
  string(TOUPPER ${error} ERROR)
  flatline_planted_engine_search(${error} a_drain_is_done_only_when_all_is_done ${ending} -DFAULT_${ERROR})
endforeach()
foreach(error submitters_not_looked_at state_looked_at_first no_fence_of_all)
  string(TOUPPER ${error} ERROR)
  flatline_planted_engine_search(drain_${error} nothing_is_accepted_after_that ${ending} -DFAULT_${ERROR})
endforeach()
flatline_planted_engine_search(drain_no_light_fence nothing_is_accepted_after_that ${ending} -DFENCED
                               -DFAULT_NO_LIGHT_FENCE)
flatline_planted_engine_search(state_by_look_and_store a_stop_is_not_undone ${ending} -DENDERS=2
                               -DFAULT_STATE_BY_LOOK_AND_STORE)
flatline_planted_engine_search(stop_not_looked_at what_was_not_begun_is_cancelled ${ending} -DENDERS=1
                               -DFAULT_STOP_NOT_LOOKED_AT)
foreach(error end_does_not_wait end_without_fence)
  string(TOUPPER ${error} ERROR)
  flatline_planted_engine_search(${error} a_task_submits_to_no_worker_that_has_left ${ending} -DENDS -DFAULT_${ERROR})
endforeach()
flatline_planted_engine_search(rest_left no_task_is_lost ${ending} -DENDS -DFAULT_REST_LEFT)

foreach(error published_first given_back_first)
  string(TOUPPER ${error} ERROR)
  flatline_planted_engine_search(${error} a_task_is_run_once_with_its_payload ${lane} -DFAULT_${ERROR})
endforeach()
foreach(error completions_too_few free_at_completion)
  string(TOUPPER ${error} ERROR)
  flatline_planted_engine_search(${error} no_completion_is_overwritten ${lane} -DFAULT_${ERROR})
endforeach()
flatline_planted_engine_search(parity_kept no_grant_is_lost ${lane} -DFAULT_PARITY_KEPT)
flatline_planted_engine_search(ring_too_short no_descriptor_is_overwritten ${lane} -DCANCELS=2 -DFAULT_RING_TOO_SHORT)
flatline_planted_engine_search(cancellation_takes_back a_task_is_run_once_with_its_payload ${lane} -DCANCELS=1 -DENDS
                               -DFAULT_CANCELLATION_TAKES_BACK)
flatline_planted_engine_search(running_task_cancelled a_task_is_cancelled_only_before_it_begins ${lane} -DCANCELS=1
                               -DFAULT_RUNNING_TASK_CANCELLED)
flatline_planted_engine_search(cancelled_again no_descriptor_is_overwritten ${lane} -DGRANTS=1 -DCANCELS=3
                               -DFAULT_CANCELLED_AGAIN)
flatline_planted_engine_search(cancels_without_entering a_drain_ends_when_all_is_done ${lane} -DCANCELS=1 -DENDS
                               -DFAULT_CANCELS_WITHOUT_ENTERING)

set(two_owners ${lane} -DTASKS=2 -DOWNERS=2 -DENDS)
flatline_planted_engine_search(finished_first no_grant_is_lost ${two_owners} -DFAULT_FINISHED_FIRST)
flatline_planted_engine_search(reclaim_does_not_wait no_descriptor_is_overwritten ${two_owners}
                               -DFAULT_RECLAIM_DOES_NOT_WAIT)
flatline_planted_engine_search(next_not_looked_at no_descriptor_is_overwritten ${two_owners} -DFAULT_NEXT_NOT_LOOKED_AT)
flatline_planted_engine_search(places_kept no_task_is_lost ${two_owners} -DFAULT_PLACES_KEPT)
flatline_planted_engine_search(posted_kept a_drain_ends_when_all_is_done ${two_owners} -DFAULT_POSTED_KEPT)

flatline_planted_engine_search(moved_by_look_and_store an_owner_finds_its_lane_as_it_left_it ${lanes}
                               -DFAULT_MOVED_BY_LOOK_AND_STORE)
flatline_planted_engine_search(attends_by_look_and_store a_worker_is_one_thread ${lanes} -DWORKER
                               -DFAULT_ATTENDS_BY_LOOK_AND_STORE)
flatline_planted_engine_search(reclaimed_for_its_owner a_lane_has_one_owner ${lanes} -DTHREADS=3
                               -DFAULT_RECLAIMED_FOR_ITS_OWNER)
flatline_planted_engine_search(reclaiming_is_never_left a_lane_comes_back ${lanes}
                               -DFAULT_RECLAIMING_IS_NEVER_LEFT)
flatline_planted_engine_search(number_alone a_lane_comes_back ${lanes} -DFAULT_NUMBER_ALONE)
flatline_planted_engine_search(lanes_reclaim_does_not_wait a_free_lane_has_nothing_in_flight ${lanes}
                               -DFAULT_RECLAIM_DOES_NOT_WAIT)
flatline_planted_engine_search(owned_lanes_taken an_owner_finds_its_lane_as_it_left_it ${lanes}
                               -DFAULT_OWNED_LANES_TAKEN)
