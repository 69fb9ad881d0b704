// What the reader chose to see of an audit, and what is left of it: everything on the page shows this.

import { threadName, type Audit, type SlowCall, type Stall } from "./audited";
import { View } from "./view";

export class AuditView extends View {
  readonly hiddenCauses = new Set<string>();
  thread: number | null = null; // index; null: all of them

  toggleCause(name: string): void {
    if (!this.hiddenCauses.delete(name)) this.hiddenCauses.add(name);
    this.changed();
  }

  chooseThread(thread: number | null): void {
    this.thread = thread;
    this.changed();
  }

  showEverything(): void {
    this.hiddenCauses.clear();
    this.thread = null;
    this.changed();
  }

  get isFiltered(): boolean {
    return this.thread !== null || this.hiddenCauses.size > 0;
  }
}

/// A stall with the figures of the threads that are shown. `index` is its place in the document.
export interface ShownStall extends Stall { index: number }

/// Nearest rank.
function percentileOf(ascending: number[], percentile: number): number {
  const rank = Math.max(1, Math.ceil((percentile / 100) * ascending.length - 1e-9));
  return ascending[rank - 1] ?? 0;
}

function ofThread(stall: ShownStall, calls: SlowCall[], thread: string): ShownStall {
  const durations = calls.map((call) => call.duration_ns).sort((a, b) => a - b);
  const longest = calls.reduce((one, other) => (other.duration_ns > one.duration_ns ? other : one));
  return {
    ...stall, count: durations.length, p50_ns: percentileOf(durations, 50), p999_ns: percentileOf(durations, 99.9),
    max_ns: longest.duration_ns, total_ns: durations.reduce((sum, each) => sum + each, 0), at_ns: longest.at_ns, thread,
  };
}

/// What is left of an audit under the reader's choice.
export class Shown {
  private readonly byStall = new Map<number, SlowCall[]>();

  constructor(readonly audit: Audit, readonly view: AuditView) {
    for (const call of audit.slow_calls) {
      const calls = this.byStall.get(call.stall);
      if (calls) calls.push(call);
      else this.byStall.set(call.stall, [call]);
    }
  }

  private hasCause(stall: Stall | undefined): boolean {
    return stall !== undefined && !this.view.hiddenCauses.has(stall.cause_kind);
  }

  private inThread(call: SlowCall): boolean {
    return this.view.thread === null || call.thread === this.view.thread;
  }

  /// The slow calls that are listed, by when they began.
  calls(): SlowCall[] {
    return this.audit.slow_calls.filter((call) =>
      this.inThread(call) && this.hasCause(this.audit.stalls[call.stall]));
  }

  /// In the order of the document. Of one thread, their figures are of the slow calls that are listed.
  stalls(): ShownStall[] {
    const all = this.audit.stalls.map((stall, index) => ({ ...stall, index })).filter((stall) => this.hasCause(stall));
    const thread = this.view.thread === null ? undefined : this.audit.threads[this.view.thread];
    if (!thread) return all;
    return all.flatMap((stall) => {
      const calls = (this.byStall.get(stall.index) ?? []).filter((call) => this.inThread(call));
      return calls.length > 0 ? [ofThread(stall, calls, threadName(thread))] : [];
    }).sort((a, b) => b.total_ns - a.total_ns);
  }
}
