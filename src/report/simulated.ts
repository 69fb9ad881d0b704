// The simulation as the page reads it: `flatline.simulate/1`. Times are in mean service times of a task.

import type { Backend, Lines } from "./data";

/// A law of queueing theory, and what the simulator gives. `interval` is the 95 % interval, from and to.
export interface Gate { law: string; measured: number; expected: number; interval: [number, number]; holds: boolean }

/// A policy in one workload: means over the seeds. `curve` has pairs of a share of the tasks and the sojourn that it
/// does not exceed. `regret` is P99.9 over the least of all implementable policies, less 1, and `refused_more` the share
/// refused, less the least of theirs.
export interface SimulatedCell {
  workload: string; held_out: boolean; policy: string; implementable: boolean; ablation: boolean;
  p50: number; p99: number; p999: number; p999_interval: [number, number]; max: number; refused: number;
  regret: number; refused_more: number; fairness: number; reports_read: number; curve?: [number, number][];
}

/// A policy at one place of the grid. `staleness` is the age of the reports in mean service times.
export interface WhatIfCell {
  load: number; staleness: number; policy: string; p50: number; p99: number; p999: number; refused: number;
}

export interface WhatIf {
  workload: { service: string; shards: number; dispatchers: number; grants: number };
  seed: number; tasks: number; loads: number[]; staleness: number[]; cells: WhatIfCell[];
}

/// A policy and the fallback that it took turns with. Gains and half-widths are shares of the fallback's P99.9; null is
/// one that could not be told.
export interface SwitchbackPair {
  workload: string; policy: string; fallback: string; truth: number; truth_interval?: [number, number];
  measured?: number | null; cases: number; covered: number; median_half_width: number | null;
}

/// Whether the interval of a gain that an engine would state holds the true one, as it should in 95 % of all cases.
export interface Switchback {
  cases: number; covered: number; median_half_width: number | null; pairs: SwitchbackPair[];
}

/// `tasks` are those that are counted, of each of `seeds` runs of a cell.
export interface Simulation {
  schema: string; seed: number; seeds: number; tasks: number;
  gates: Gate[]; cells: SimulatedCell[]; what_if?: WhatIf; switchback?: Switchback;
}

/// The cells of one workload, of those that are held out or of those for training; the ablations apart.
export interface WorkloadCells {
  id: string; name: string; heldOut: boolean; cells: SimulatedCell[]; ablations: SimulatedCell[];
}

/// The policy of this project, of which there are ablations.
export const ours = "predictive";

export function isSimulation(text: string): boolean {
  try {
    return String((JSON.parse(text) as { schema?: unknown }).schema).startsWith("flatline.simulate/");
  } catch {
    return false;
  }
}

export function readSimulation(text: string): Simulation {
  const raw = JSON.parse(text) as Simulation;
  if (raw.schema !== "flatline.simulate/1") {
    throw new Error(`this page reads flatline.simulate/1, but its data is ${raw.schema}: ` +
      "write both with the same Flatline");
  }
  return { ...raw, gates: raw.gates ?? [], cells: raw.cells ?? [] };
}

/// Those that are held out first, each in the order of the data.
export function workloadsOf({ cells }: Simulation): WorkloadCells[] {
  return [true, false].flatMap((heldOut) => {
    const of = cells.filter((cell) => cell.held_out === heldOut);
    return [...new Set(of.map((cell) => cell.workload))].map((name) => {
      const here = of.filter((cell) => cell.workload === name);
      return {
        id: `${heldOut ? "held-out" : "training"}-${name.replace(/\W+/g, "-")}`, name, heldOut,
        cells: here.filter((cell) => !cell.ablation), ablations: here.filter((cell) => cell.ablation),
      };
    });
  });
}

/// The policies in the order of the data, as lines of the charts; last the references, which know what nobody can.
export function linesOf({ cells, what_if: whatIf }: Simulation): Lines {
  const able = cells.filter((cell) => cell.implementable && !cell.ablation).map((cell) => cell.policy);
  const references = cells.filter((cell) => !cell.implementable).map((cell) => cell.policy);
  const names = new Set([...able, ...(whatIf?.cells ?? []).map((cell) => cell.policy), ...references]);
  const isReference = new Set(references);
  return { backends: [...names].map((name): Backend => ({
    name, title: name, kind: name === ours ? "subject" : isReference.has(name) ? "control" : "general",
  })) };
}

/// A policy and its worst cells in these workloads.
export interface Worst { policy: string; regret: SimulatedCell; refusals: SimulatedCell }

/// Of the implementable policies, the least worst regret of P99.9 first.
export function worstOf(workloads: WorkloadCells[]): Worst[] {
  const worst = new Map<string, Worst>();
  for (const cell of workloads.flatMap(({ cells }) => cells).filter((each) => each.implementable)) {
    const of = worst.get(cell.policy) ?? { policy: cell.policy, regret: cell, refusals: cell };
    worst.set(cell.policy, {
      ...of,
      regret: cell.regret > of.regret.regret ? cell : of.regret,
      refusals: cell.refused_more > of.refusals.refused_more ? cell : of.refusals,
    });
  }
  return [...worst.values()].sort((a, b) => a.regret.regret - b.regret.regret);
}
