// All terms of the page, one line each.

import { el } from "./dom";

/// A term and its meaning.
export type Term = [string, string];

const terms: Term[] = [
  ["P50, P90, P99", "half, 90 %, 99 % of the samples took this long or less; P50 is the median."],
  ["P99.9, P99.99", "one sample in 1,000, in 10,000, took longer; no P99.99 is given under 100,000 samples."],
  ["P99.9 − P50", "jitter: how much longer than usual the slowest call in 1,000 takes, in ns."],
  ["exceedance, ppm", "samples longer than 100 ns, 1 µs, 10 µs, in parts per million of all; none is trimmed."],
  ["interval", "the small figures under P50, P99.9: where 95 % of resamples of the processes put them (bootstrap)."],
  ["P50 net", "P50 less the cost of reading the clock; it may fall below zero, and is not clamped."],
  ["faults", "page faults during the timing; the small figure counts those of the setup, before any clock was read."],
  ["resident", "the most resident memory of a measuring process, harness included."],
  ["peak", "the most resident memory of a process with several threads, without the driver's own memory and code."],
  ["floor", "the same loop with empty calls: the cost of the harness itself. Only noise can put a figure below it."],
  ["A/A", "the pool measured against a second copy of itself; a difference smaller than theirs decides nothing " +
    "(even), nor does one on which the rounds disagree."],
  ["void", "the A/A copies differed by more than 5 %: the machine was too noisy, and the cell decides nothing."],
  ["block of calls", "many calls between two clock readings, divided: precise for the body, blind to one slow call."],
  ["single call", "one call between two clock readings: coarse (a timer tick), but the only honest view of the tail."],
  ["touched", "every block is written after it is allocated and read before it is freed, as programs do."],
  ["hot", "alloc and free of one block, again and again."],
  ["fifo", "2,000 blocks live of a capacity of 200,000; the oldest is freed first."],
  ["churn", "200,000 blocks live; one at random is freed and another allocated."],
  ["mixed", "seven sizes from 16 to 1024 B, small ones more often; 100,000 blocks live."],
  ["slope", "of the least-squares line through the windows of a drift cell, in ns for each million operations."],
  ["sojourn", "from when a request was due to its end: a stall counts in every request that it delays. Service: from " +
    "its start."],
  ["programs", "real programs under each allocator by preload: time against memory, of the process that allocates."],
  ["frontier", "the allocators that no other beats in time or memory without losing in the other."],
  ["order", "200,000 blocks of 64 B are filled, then freed newest first (lifo), oldest first (fifo) or at random."],
  ["throughput", "batches of 100,000 with no clock inside."],
  ["drift", "churn for 64 million calls, each timed separately, in 100 windows: P50, P99 and longest call of each."],
  ["startup", "creation and first fill of a million blocks, in ns a block (or ms for all); cold or prefaulted."],
  ["memory", "resident bytes for each live block, every byte written; quarter: the same after 3 of 4 were freed."],
  ["anysize", "sizes of 16 B to 8 KiB, 20,000 live, uniform and Pareto; resident bytes next to the bytes requested."],
  ["new-delete", "an int by C++ operator new and delete, next to a plain loop and a bump allocator in a local buffer."],
  ["threads", "several threads, also more than processors: each on its own, blocks handed to the next (larson), " +
    "one allocates and another frees, many allocate and one frees all (many-to-one)."],
  ["pipeline", "messages of 16 B to 1 KiB: of each pair of threads one allocates them, the other reads and frees."],
  ["arrivals", "requests due at random times; sojourn is from when each was due, service from when it was begun."],
  ["stalls", "a thread's calls while another one ends, trims or frees 1 GiB; under mlockall; in a page of which " +
    "another thread freed a block."],
  ["run delay", "how long a thread was ready to run and had no processor, as the kernel counts it; a call less its " +
    "run delay leaves that time out."],
  ["containers", "standard containers made, filled, read and destroyed over each memory resource, a round at a time."],
  ["round", "one such run of a workload's containers and, for an arena, its reset; all is read back and compared."],
  ["heap calls", "calls of operator new in a round; the run ends if a resource calls the heap that must not."],
  ["held", "the most bytes of a resource's memory that a round used; for the heap, the bytes requested."],
  ["engine", "tasks that one thread submits and another runs: one at a time, as many as possible, on a schedule, and " +
    "twice as many as possible."],
  ["Mops/s", "million operations a second; higher is better. Mtasks/s: million tasks a second."],
  ["list", "a linked list through the free blocks, with no check at all: the fastest pool known, and the least safe."],
  ["steal", "the share of time in which the hypervisor ran something else on this processor."],
  ["hiccup", "a gap of over 10 µs in an idle loop that only reads the clock: the machine causes it."],
];

/// The line of a term, for places that name it; empty for an unknown term.
export function meaningOf(term: string): string {
  return terms.find(([name]) => name === term)?.[1] ?? "";
}

export function glossarySection(all = terms): HTMLElement {
  return el("section", { id: "glossary", "aria-labelledby": "glossary-title" },
    el("h2", { id: "glossary-title" }, "Terms"),
    el("dl", { class: "glossary" },
      ...all.map(([term, meaning]) => el("div", {}, el("dt", {}, term), el("dd", {}, meaning)))));
}
