/* How a block that another thread freed comes back to its owner: as in src/core/hand_over.h, by marks in a tree, but
 * what is claimed is a bit, and so the owner takes 64 blocks by one exchange.
 *
 *     root_marks        [ 64 marks ] x 4                 one of them: 16 GiB     of the owner's thread heap
 *     top_marks             [ 64 marks ] x 256                      256 MiB
 *     marks                     [ 64 marks ] x 16384                4 MiB
 *     chunk_marks                   [ 16 marks ] a chunk            256 KiB
 *     page_marks                        [ 64 marks ]                4 KiB
 *     returned                              [ 64 bits ] x 4         one granule, at which the block starts
 *
 * A freeing thread sets the block's bit, which only one thread can find clear, then the mark above it, and so on until
 * it finds a mark set: at most five. The owner takes whole words from the top down and uses each up before it takes the
 * next. Both kinds of thread take a fixed number of steps, whatever the others do.
 *
 *     bit of a word != 0   iff   its mark is set above it, or was taken by the owner and not used up, or is about to
 *                                be set by the one thread that found the bit clear
 *
 * A thread that is stopped for ever between two of its steps therefore keeps from the owner its own block, or what lies
 * under the mark that it has set last: a page's blocks, 256 KiB of them, or 4 MiB, and no more.
 *
 * A chunk that is wholly free may go to another heap, while a thread is late in setting marks for a block that has come
 * back already. So whose tree is marked is looked up only when a chunk's word was marked, and who gets a chunk first
 * makes that known and then clears its marks: a late mark is cleared, or set in the new owner's tree, where it leads to
 * nothing. The owner before looks whether a chunk that its tree leads to is still its own.
 *
 * The owner's own free of a block must see that another has freed it. It looks for that only where the page's tag says
 * RETURNED_MARK, which the freeing thread sets after the bit, and the owner clears before it takes the bits. What comes
 * between the two steps of the one is concurrent with the free of the other, and then neither need be refused at once:
 * the owner finds the block dead when it takes the bit, and stops the program there; or live again, if it has handed it
 * out meanwhile: then the late free was one of the new block. tests/malloc/returned.pml is a model of all this. */
#ifndef FLATLINE_MALLOC_RETURNED_H
#define FLATLINE_MALLOC_RETURNED_H

#include "thread_heap.h"

/* Frees a live block of another's heap. False: it has been freed already. At most eight atomic operations, no loop. */
bool flat_return(size_t granule);

/* Sends a block home that lies at hand in another heap than its own. False: somebody holds it, or it has been sent
 * before. At most eight atomic operations, no loop. */
bool flat_send_home(const block_at_hand *entry);

#define RETURNED_PAGES 4 /* taken back at a time: 256 blocks of 64 bytes, or 16 KiB of larger ones */

/* By the owner: takes back the blocks of up to `most` pages in which some were returned. */
void flat_take_back(thread_heap *heap, unsigned most);

/* By the owner: those of one of its pages. */
void flat_take_back_page(thread_heap *heap, uint32_t page);

/* By the owner: whether it may have something to take back. */
bool flat_has_returned(const thread_heap *heap);

#endif
