// Where the slow calls of a timeline stand: a lane for each thread, time across, duration upwards on a log scale.

import type { SlowCall } from "./audited";
import { roundStep } from "./chart";
import { figure, roundDuration, timeUnits } from "./format";

export const mostLanes = 24;

const gutter = 58, margin = 14;             // CSS pixels, left and right of the lanes, as all of these
const nameHeight = 20, plotHeight = 58, gap = 10;
const axisHeight = 40;
const laneHeight = nameHeight + plotHeight + gap;
const betweenTicks = 80;

/// The calls of a thread by when they began. `top` is where its name stands.
export interface Lane { thread: number; calls: SlowCall[]; slowNs: number; top: number }

/// From and to, in ns since the audit began.
export type Window = [from: number, to: number];

/// The threads of these calls, the one that lost the most time first, and those beyond the limit left out.
export function lanesOf(calls: SlowCall[]): { lanes: Lane[]; left: Lane[] } {
  const lanes = new Map<number, Lane>();
  for (const call of calls) {
    const lane = lanes.get(call.thread) ?? { thread: call.thread, calls: [], slowNs: 0, top: 0 };
    lane.calls.push(call);
    lane.slowNs += call.duration_ns;
    lanes.set(call.thread, lane);
  }
  const sorted = [...lanes.values()].sort((a, b) => b.slowNs - a.slowNs);
  sorted.forEach((lane, i) => { lane.top = i * laneHeight; });
  return { lanes: sorted.slice(0, mostLanes), left: sorted.slice(mostLanes) };
}

export class Layout {
  readonly left = gutter;
  readonly right: number;
  readonly height: number;
  readonly axis: number; // where the lanes end and the time axis begins

  /// `low` and `high`: the durations between which all lanes reach, in ns.
  constructor(readonly width: number, readonly lanes: Lane[], readonly window: Window, readonly low: number,
              readonly high: number) {
    this.right = Math.max(gutter + 1, width - margin);
    this.axis = Math.max(1, lanes.length) * laneHeight;
    this.height = this.axis + axisHeight;
  }

  x(ns: number): number {
    const [from, to] = this.window;
    return this.left + ((ns - from) / (to - from)) * (this.right - this.left);
  }

  timeAt(x: number): number {
    const [from, to] = this.window;
    const share = (x - this.left) / (this.right - this.left);
    return from + Math.min(1, Math.max(0, share)) * (to - from);
  }

  y(lane: Lane, ns: number): number {
    const share = Math.log(Math.max(ns, this.low) / this.low) / Math.log(this.high / this.low);
    return this.base(lane) - share * plotHeight;
  }

  base(lane: Lane): number {
    return lane.top + nameHeight + plotHeight;
  }

  /// Those that began or went on in the window.
  inWindow({ calls }: Lane): SlowCall[] {
    const [from, to] = this.window;
    return calls.filter((call) => call.at_ns <= to && call.at_ns + call.duration_ns >= from);
  }

  /// The call whose mark is nearest to a place, if one is within reach.
  nearest(x: number, y: number, reach: number): { lane: Lane; call: SlowCall } | null {
    let best: { lane: Lane; call: SlowCall } | null = null, least = reach * reach;
    for (const lane of this.lanes) {
      if (y < lane.top - reach || y > this.base(lane) + reach) continue;
      for (const call of this.inWindow(lane)) {
        const far = (this.x(call.at_ns) - x) ** 2 + (this.y(lane, call.duration_ns) - y) ** 2;
        if (far < least) [best, least] = [{ lane, call }, far];
      }
    }
    return best;
  }

  /// Powers of ten between the lowest and the highest duration, with their texts.
  decades(): { ns: number; text: string }[] {
    const all = [];
    for (let ns = this.low; ns <= this.high * 1.001; ns *= 10) {
      all.push({ ns, text: roundDuration(ns) });
    }
    return all;
  }

  /// Places of the time axis with their texts, and the unit of the latter.
  timeTicks(): { unit: string; ticks: { at: number; text: string }[] } {
    const [from, to] = this.window, span = to - from;
    const [unit, size] = timeUnits.find(([, each]) => span >= 2 * each) ?? ["ns", 1];
    const count = Math.max(2, Math.floor((this.right - this.left) / betweenTicks));
    const step = roundStep(span / size / count, 1);
    const decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
    const ticks = [];
    for (let i = Math.ceil(from / size / step - 1e-6); i * step <= (to / size) * (1 + 1e-9); i++) {
      ticks.push({ at: i * step * size, text: figure(i * step, decimals) });
    }
    return { unit, ticks };
  }
}
