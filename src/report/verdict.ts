// The result of a cell: picks the verdict that matters among those of the run, and puts it in words.

import {
  higherIsBetter, type Backend, type BackendKind, type Bench, type Cell, type CellKind, type Row, type Verdict as Said,
} from "./data";
import { figure, range } from "./format";

export type Metric = (row: Row) => number;
export type Outcome = "win" | "loss" | "even" | "void";

export interface Judgement {
  outcome: Outcome;
  best: Row;          // the best of the rivals
  ratio: number;      // subject / best rival
  low: number;        // of the 95 % interval
  high: number;
}

const outcomes: Record<Said["outcome"], Outcome> =
  { faster: "win", slower: "loss", "no difference": "even", void: "void" };

const everyRival: BackendKind[] = ["general", "fixed-pool", "one-to-one"];
const competitors: BackendKind[] = ["subject", "standard", "drop-in", ...everyRival];

/// Whether a backend is a judged one of Flatline's: a subject, or its malloc under one of its policies.
export function isOurs({ kind }: Backend): boolean {
  return kind === "subject" || kind === "drop-in";
}

/// The rivals of one of Flatline's backends. A malloc has only other mallocs as rivals.
export function rivalsOf({ kind }: Backend): BackendKind[] {
  return kind === "drop-in" ? ["general"] : everyRival;
}

/// The first subject that has figures in the cell.
export function subjectOf(cell: Cell, backends: Backend[]): Backend | undefined {
  return backends.find(({ name, kind }) => kind === "subject" && cell.rows.some((row) => row.backend === name));
}

function rowsOfKind(cell: Cell, backends: Backend[], kinds: BackendKind[]): Row[] {
  const names = new Set(backends.filter((each) => kinds.includes(each.kind)).map((each) => each.name));
  return cell.rows.filter((row) => names.has(row.backend));
}

function bestOf(cell: Cell, rows: Row[], metric: Metric): Row | undefined {
  const direction = higherIsBetter(cell) ? -1 : 1;
  return [...rows].sort((a, b) => direction * (metric(a) - metric(b)))[0];
}

/// The deciding figure of a cell: the median, or the tail for single calls, which are timed for it.
export function decider(cell: Cell): { field: "p50" | "p999"; name: string } {
  if (cell.kind === "drift") return { field: "p50", name: "median window" };
  return cell.kind === "tail" ? { field: "p999", name: "P99.9" } : { field: "p50", name: "P50" };
}

/// The best row among the allocators that compete: subjects, general ones, fixed-size pools and the C++ library's. None
/// if the cell is void or its figure does not measure merit.
export function winnerOf(cell: Cell, backends: Backend[]): Row | undefined {
  if (cell.isVoid || !cell.ranked) return undefined;
  const { field } = decider(cell);
  return bestOf(cell, rowsOfKind(cell, backends, competitors), (row) => row[field]);
}

/// The subject against the best rival of these kinds, by the deciding figure. undefined iff either is absent, the cell
/// is not ranked, the run has no verdict on it, or the cell times rounds, which are judged in rounds.ts.
export function judge(cell: Cell, backends: Backend[], kinds = everyRival, subject = subjectOf(cell, backends)):
    Judgement | undefined {
  if (!cell.ranked || cell.kind === "round" || !subject) return undefined;
  const { field } = decider(cell);
  const best = bestOf(cell, rowsOfKind(cell, backends, kinds), (row) => row[field]);
  const verdict = cell.verdicts.find((each) =>
    each.rival === best?.backend && (each.subject ?? subject.name) === subject.name);
  if (!best || !verdict) return undefined;
  return { outcome: outcomes[verdict.outcome], best, ratio: verdict.ratio, low: verdict.low, high: verdict.high };
}

/// "12–19 %": the distance of the ratio's interval from 1, nearer side first; "8 %" if both ends round to that. Below
/// 10 % tenths count.
export function percentAway({ low, high }: Judgement): string {
  const [near, far] = [Math.abs(1 - low) * 100, Math.abs(1 - high) * 100].sort((a, b) => a - b) as [number, number];
  const write = (value: number) => figure(value, far < 10 ? 1 : 0);
  return `${write(near) === write(far) ? write(far) : range(near, far, write)}\u00a0%`;
}

/// The subject compared with the rival: "faster by 12–19 %", "no difference at this precision (0.98–1.03 of its P50)".
export function inWords(cell: Cell, verdict: Judgement): string {
  const [better, worse] = cell.kind === "bytes" ? ["less", "more"] : ["faster", "slower"];
  switch (verdict.outcome) {
    case "win": return `${better} by ${percentAway(verdict)}`;
    case "loss": return `${worse} by ${percentAway(verdict)}`;
    case "even": return "no difference at this precision " +
      `(${range(verdict.low, verdict.high, (value) => figure(value, 2))} of its ${decider(cell).name})`;
    case "void": return "void";
  }
}

export interface Judged { cell: Cell; judgement: Judgement }

/// Every cell with a verdict, by outcome, against the best rival of these kinds; for this subject, or for the first of
/// each.
export function judgedCells(cells: Cell[], backends: Backend[], kinds?: BackendKind[], subject?: Backend):
    Record<Outcome, Judged[]> {
  const result: Record<Outcome, Judged[]> = { win: [], loss: [], even: [], void: [] };
  for (const cell of cells) {
    const judgement = judge(cell, backends, kinds, subject);
    if (judgement) result[judgement.outcome].push({ cell, judgement });
  }
  return result;
}

/// How often the subject is the best of all that compete, in the cells that the sentence leaves out.
function othersText(cells: Cell[], backends: Backend[]): string {
  const kinds: [CellKind, string][] = [
    ["tail", "tail (P99.9)"], ["drift", "drift"], ["phase", "phase"], ["rate", "throughput"], ["bytes", "memory"],
  ];
  const parts = kinds.flatMap(([kind, name]) => {
    const { win, loss, even } = judgedCells(cells.filter((cell) => cell.kind === kind), backends);
    const all = win.length + loss.length + even.length;
    return all === 0 ? [] : `${win.length} of ${all} ${name} cells, losing ${loss.length}`;
  });
  return parts.length === 0 ? "" : `Best of all that compete in ${parts.join("; in ")}.`;
}

export interface Verdict { sentence: string; others: string }

/// One sentence about the body that a reader may quote (wins, losses, what was too close, what was too noisy), and the
/// count of the rest.
export function verdictOf(bench: Bench, all: Cell[]): Verdict {
  const cells = all.filter(({ kind }) => kind !== "round");
  const subject = bench.backends.find((each) => each.kind === "subject");
  const body = cells.filter((cell) => cell.kind === "body");
  const { win, loss, even, void: noisy } = judgedCells(body, bench.backends);
  const judged = win.length + loss.length + even.length;
  const others = othersText(cells, bench.backends);
  if (cells.length > 0 && !bench.judged) {
    const sentence = "This run was written before runs had verdicts: only the best figure of each cell is marked.";
    return { sentence, others };
  }
  if (!subject || judged + noisy.length === 0) {
    const sentence = others === "" && cells.length > 0 ? "No cell holds both Flatline's pool and a rival." : "";
    return { sentence, others };
  }
  const general = judgedCells(body, bench.backends, ["general"]);
  const generalJudged = general.win.length + general.loss.length + general.even.length;
  const sentence =
    `${subject.title} has the lowest median of the general-purpose allocators in ${general.win.length} of ` +
    `${generalJudged} body cells, and of all that compete, fixed-size pools included, in ${win.length}; ` +
    `it loses ${loss.length === 0 ? "none" : loss.length}, ${even.length} ${even.length === 1 ? "is" : "are"} ` +
    `too close to call, and ${noisy.length} more ${noisy.length === 1 ? "is" : "are"} void.`;
  return { sentence, others };
}
