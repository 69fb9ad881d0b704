/* How a block that another thread freed returns to its owner: by marks in a tree, as in src/core/hand_over.h. A small
 * block is claimed by its state, a large one by a bit in `returned`, and a mark leads to all claimed blocks of a page.
 *
 *     root_marks        [ 64 marks ] x 4                 one of them: 16 GiB     of the owner's thread heap
 *     top_marks             [ 64 marks ] x 256                      256 MiB
 *     marks                     [ 64 marks ] x 16384                4 MiB
 *     chunk_marks                   [ 16 marks ] a chunk            256 KiB
 *     page_marks                        [ 64 marks ]                4 KiB
 *     states, returned                      one block               claimed by its state, or by its bit
 *
 * A freeing thread claims the block, which only one thread can do, then sets the mark above it, and so on until it
 * finds a mark set: at most five. The owner takes whole words from the top down, and uses each up before it takes the
 * next. Both kinds of thread take a fixed number of steps, whatever the others do.
 *
 *     word of marks != 0   iff   its mark is set above it, or was taken by the owner and not used up, or is about to
 *                                be set by the one thread that found the mark clear
 *
 * A thread that is stopped for ever between two of its steps therefore holds back its own block, or what lies under the
 * mark that it set last: a page's blocks, those of 256 KiB, or of 4 MiB, and no more.
 *
 * A chunk that is wholly free may go to another heap while a thread is late in setting marks for a block that has
 * already come back. So a thread looks up whose tree to mark only after it has marked a chunk's word. A heap that gets
 * a chunk first publishes that, and then clears the chunk's marks. A late mark is cleared, or set in the new owner's
 * tree, where it leads to nothing. The previous owner checks whether a chunk that its tree leads to is still its own.
 *
 * If two threads free one block at the same moment, neither free need be refused at once. The program is then stopped
 * when malloc finds a cached block that somebody holds, or when the block returns to its owner a second time. If the
 * owner has handed the block out again before the late free, that free frees the new block. tests/malloc/returned.pml
 * is a model of all this. */
#ifndef FLATLINE_MALLOC_RETURNED_H
#define FLATLINE_MALLOC_RETURNED_H

#include "thread_heap.h"

/* Frees a live block of another heap. False: it has already been freed. At most six atomic read-modify-writes and seven
 * atomic loads, no loop. */
bool flat_return(size_t granule);

/* Returns a block to its owner that is cached in another heap. False: somebody holds it, or it has already been
 * returned. At most six atomic read-modify-writes and six atomic loads, no loop. */
bool flat_send_home(const block_at_hand *entry);

#define RETURNED_PAGES 4 /* pages taken back at a time: 256 blocks of 64 bytes, or 16 KiB of larger ones */

/* By the owner: takes back the blocks of up to `most` pages in which some were returned. */
void flat_take_back(thread_heap *heap, unsigned most);

/* By the owner: takes back the returned blocks of one of its pages. */
void flat_take_back_page(thread_heap *heap, uint32_t page);

/* By the owner: whether there may be something to take back. */
bool flat_has_returned(const thread_heap *heap);

#endif
