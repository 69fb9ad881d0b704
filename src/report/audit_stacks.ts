// The trees of a flame graph: of all calls, or of the slow calls that are shown.

import type { FlameFrame } from "./audited";
import type { ShownStall } from "./audit_view";

/// By what a frame is as wide: the time of its calls together, or the longest single call of each stack.
export type Measure = "total" | "worst";

/// A frame as wide as `value`, in ns: at least as much as its children together. `total` and `worst` are of all calls
/// below it.
export interface Flame { name: string; value: number; total: number; worst: number; children: Flame[] }

/// A frame as wide by worst calls as the stacks that pass through it. The worst call of a stack that ends in it can be
/// told only if it is the worst of all.
function byWorst(frame: FlameFrame): Flame {
  const children = (frame.children ?? []).map(byWorst);
  const below = children.reduce((sum, child) => sum + child.value, 0);
  const worstBelow = children.reduce((worst, child) => Math.max(worst, child.worst), 0);
  const own = frame.worst > worstBelow ? frame.worst : 0;
  return { name: frame.name, value: below + own, total: frame.value, worst: frame.worst, children };
}

function byTotal({ name, value, worst, children }: FlameFrame): Flame {
  return { name, value, total: value, worst, children: (children ?? []).map(byTotal) };
}

export function flameOf(root: FlameFrame, measure: Measure): Flame {
  return measure === "total" ? byTotal(root) : byWorst(root);
}

/// Slow calls alone, whose operation and cause stand at the end of their stack.
export function treeOfStalls(stalls: ShownStall[]): FlameFrame {
  const root: FlameFrame = { name: "slow calls", value: 0, worst: 0, children: [] };
  for (const { stack, operation, cause, total_ns: total, max_ns: worst } of stalls) {
    let frame = root;
    for (const name of [null, ...stack.map((each) => each.function).reverse(), `${operation}: ${cause}`]) {
      if (name !== null) {
        let child = frame.children.find((each) => each.name === name);
        if (!child) frame.children.push(child = { name, value: 0, worst: 0, children: [] });
        frame = child;
      }
      frame.value += total;
      frame.worst = Math.max(frame.worst, worst);
    }
  }
  return root;
}
