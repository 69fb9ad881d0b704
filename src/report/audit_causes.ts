// The causes of slow calls: how each is drawn, what it means, and what to do about it.

import { svg } from "./dom";

/// A cause has a colour, which is the name of a custom property, and a shape, so that neither is needed alone. `outline`
/// is the shape in a square from -1 to 1, as corners; without corners it is a circle.
export interface CauseLook { name: string; colour: string; outline: [number, number][]; means: string; advice: string }

const square = 0.82, wide = 0.34; // half a side; half the width of an arm of the cross

const causes: CauseLook[] = [
  { name: "page fault", colour: "--cause-fault", outline: [],
    means: "the kernel had to supply or copy a page of memory: the first write to fresh memory, or to memory that was " +
      "given back. In the row “first touch” it struck in the program, after the allocation, and is charged to the " +
      "site of the block that was touched.",
    advice: "Touch or lock the memory before it matters (a pool, an arena or a heap that is prefaulted), and do not let " +
      "the allocator give it back." },
  { name: "system call", colour: "--cause-call",
    outline: [[-square, -square], [square, -square], [square, square], [-square, square]],
    means: "the allocator asked the kernel for memory, gave some back or changed it, and the kernel took that long.",
    advice: "Reserve the memory before the loop, and keep the allocator from trimming in it; a pool or a heap of fixed " +
      "size makes no system call." },
  { name: "lock", colour: "--cause-lock", outline: [[0, -1.15], [1.15, 0], [0, 1.15], [-1.15, 0]],
    means: "the call waited for a lock that another thread held.",
    advice: "Give the thread memory of its own (a pool or heap that no other thread uses), or return blocks in the " +
      "thread that allocated them." },
  { name: "preempted", colour: "--cause-preempted", outline: [[-1.05, -0.85], [1.05, -0.85], [0, 1.05]],
    means: "the kernel gave the processor to another task during the call: nothing that the allocator did.",
    advice: "Give the thread a real-time priority or a processor of its own; no other allocator changes this." },
  { name: "blocked", colour: "--cause-blocked", outline: [[-1.05, 0.85], [1.05, 0.85], [0, -1.05]],
    means: "the thread slept in the kernel, and not for a lock that could be told: waiting for a device or a page on " +
      "disk, or sleeping between attempts to take a spin lock.",
    advice: "Look at the stack for what it slept in; lock the memory in place, and avoid spin locks that sleep." },
  { name: "own work or the machine", colour: "--cause-own",
    outline: [[-1, -wide], [-wide, -wide], [-wide, -1], [wide, -1], [wide, -wide], [1, -wide], [1, wide], [wide, wide],
      [wide, 1], [-wide, 1], [-wide, wide], [-1, wide]],
    means: "no event of the kernel explains it: the allocator searched, merged or purged, spun on a lock, or the " +
      "machine itself stood still (the hypervisor, an interrupt, a cache miss).",
    advice: "If it recurs at one site, it is the allocator's work: use one whose every call is bounded. If it is " +
      "scattered over all sites, it is the machine." },
];

const unknown: CauseLook = {
  name: "", colour: "--cause-preempted", outline: [], means: "a cause that this page does not know.", advice: "",
};

/// The looks of these causes, in the order in which a report names them; causes that the page does not know come last.
export function looksOfCauses(names: Iterable<string>): CauseLook[] {
  const all = new Set(names);
  const strange = [...all].filter((name) => !causes.some((cause) => cause.name === name));
  return [...causes.filter(({ name }) => all.has(name)), ...strange.map((name) => ({ ...unknown, name }))];
}

export function lookOfCause(name: string): CauseLook {
  return causes.find((cause) => cause.name === name) ?? { ...unknown, name };
}

export const everyCause = causes;

/// Adds the shape around a place to a path.
export function traceShape(path: CanvasPath, { outline }: CauseLook, x: number, y: number, radius: number): void {
  if (outline.length === 0) {
    path.moveTo(x + radius, y);
    path.arc(x, y, radius, 0, 2 * Math.PI);
    return;
  }
  outline.forEach(([right, down], i) => {
    if (i === 0) path.moveTo(x + right * radius, y + down * radius);
    else path.lineTo(x + right * radius, y + down * radius);
  });
  path.closePath();
}

/// The mark of a cause, for texts and legends.
export function causeMark({ outline, colour }: CauseLook): SVGElement {
  const style = `fill: var(${colour})`;
  return svg("svg", { class: "cause-mark", width: 12, height: 12, viewBox: "-1.3 -1.3 2.6 2.6", "aria-hidden": "true" },
    outline.length === 0 ? svg("circle", { r: 1, style })
      : svg("polygon", { points: outline.map((corner) => corner.join()).join(" "), style }));
}
