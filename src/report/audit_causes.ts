// The causes of slow calls: how each is drawn, what it means, and what to do about it, in the words of the terminal's
// report.

import { el, svg, type Child } from "./dom";

/// A cause has a colour, which is the name of a custom property, and a shape, so that neither is needed alone.
/// `outline` is the shape around 0, 0, of a size of about 1, as corners; without corners it is a circle.
export interface CauseLook { name: string; colour: string; outline: [number, number][]; means: string; advice: string }

const square = 0.82, wide = 0.34; // half a side; half the width of an arm of the cross

const causes: CauseLook[] = [
  { name: "page fault", colour: "--cause-fault", outline: [],
    means: "the kernel had to supply or copy a page of memory: at the first write to fresh memory, or to memory that " +
      "was given back. A first touch strikes in the program, after the allocation, and is charged to the site where " +
      "the block was allocated.",
    advice: "Allocate the memory and write to it before the deadline begins. A pool is resident before its first " +
      "call (`flat_pool_create`). Without a change to the program, `flatline run --policy latency` makes many pages " +
      "resident at once, and keeps them." },
  { name: "system call", colour: "--cause-call",
    outline: [[-square, -square], [square, -square], [square, square], [-square, square]],
    means: "the allocator asked the kernel for memory, gave some back or changed it, and the kernel took that long.",
    advice: "The allocator gets memory from the kernel or returns it. A pool makes no system call once it is created " +
      "(`flat_pool_create`). Without a change to the program, `flatline run --policy latency` returns nothing to the " +
      "kernel." },
  { name: "lock", colour: "--cause-lock", outline: [[0, -1.15], [1.15, 0], [0, 1.15], [-1.15, 0]],
    means: "the call waited for a lock that another thread held.",
    advice: "Threads wait for each other inside the allocator. Give each thread or core a pool of its own, with " +
      "blocks that any thread may free (`flat_percore_create`)." },
  { name: "preempted", colour: "--cause-preempted", outline: [[-1.05, -0.85], [1.05, -0.85], [0, 1.05]],
    means: "the kernel gave the processor to another task during the call.",
    advice: "Not the allocator: the scheduler gave the processor to another task. Use a real-time priority or an " +
      "isolated processor; `flatline env` shows how this machine is set up, and `flatline bench` how it disturbs a " +
      "call." },
  { name: "blocked", colour: "--cause-blocked", outline: [[-1.05, 0.85], [1.05, 0.85], [0, -1.05]],
    means: "the thread slept in the kernel, and not for a lock: it waited for a page from disk, a device or memory.",
    advice: "The call waited in the kernel, as for memory to be reclaimed or a page to be read from disk. Keep " +
      "memory free, and lock what the deadline needs: a region that is created locked (`flat_region_create`), or mlockall." },
  { name: "own work or the machine", colour: "--cause-own",
    outline: [[-1, -wide], [-wide, -wide], [-wide, -1], [wide, -1], [wide, -wide], [1, -wide], [1, wide], [wide, wide],
      [wide, 1], [-wide, 1], [-wide, wide], [-1, wide]],
    means: "the thread ran all the time and the kernel saw nothing: the allocator\u2019s own steps, spinning for a " +
      "lock, or the hypervisor, an interrupt, a cache miss.",
    advice: "No event of the kernel explains these. The allocator searched, merged or spun, or the machine itself " +
      "was interrupted. A pool takes a bounded number of steps: `flatline plan` sizes one, and `flatline prove` shows " +
      "the bound." },
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

/// What to do about a cause. What stands between backquotes is code.
export function adviceOn({ advice }: CauseLook): Child[] {
  return advice.split("`").map((text, i) => (i % 2 === 1 ? el("code", {}, text) : text));
}

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
