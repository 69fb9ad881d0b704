// Who won a cell: the laboratory's own verdicts, of which this only picks the one that matters and counts.

import { higherIsBetter, type Backend, type BackendKind, type Bench, type Cell, type CellKind, type Row, type Verdict as Said } from "./data";
import { cellName } from "./format";

export type Metric = (row: Row) => number;
export type Outcome = "win" | "loss" | "even" | "void";

export interface Judgement {
  outcome: Outcome;
  best: Row;          // the best of the rivals
  ratio: number;      // subject / best rival
}

const outcomes: Record<Said["outcome"], Outcome> =
  { faster: "win", slower: "loss", "no difference": "even", void: "void" };

const everyRival: BackendKind[] = ["general", "fixed-pool"];

function rowsOfKind(cell: Cell, backends: Backend[], kinds: BackendKind[]): Row[] {
  const names = new Set(backends.filter((each) => kinds.includes(each.kind)).map((each) => each.name));
  return cell.rows.filter((row) => names.has(row.backend));
}

function bestOf(cell: Cell, rows: Row[], metric: Metric): Row | undefined {
  const direction = higherIsBetter(cell) ? -1 : 1;
  return [...rows].sort((a, b) => direction * (metric(a) - metric(b)))[0];
}

/// The best row among the allocators that compete: the subject, the general ones and the fixed-size pools.
export function winnerOf(cell: Cell, backends: Backend[], metric: Metric): Row | undefined {
  return bestOf(cell, rowsOfKind(cell, backends, ["subject", ...everyRival]), metric);
}

/// The subject against the best rival of these kinds by what decides the cell; undefined iff either is absent.
export function judge(cell: Cell, backends: Backend[], kinds = everyRival): Judgement | undefined {
  const { field } = decider(cell);
  const best = bestOf(cell, rowsOfKind(cell, backends, kinds), (row) => row[field]);
  const verdict = cell.verdicts.find((each) => each.rival === best?.backend);
  return best && verdict && { outcome: outcomes[verdict.outcome], best, ratio: verdict.ratio };
}

/// What decides a cell: the median, but for single calls the tail they were timed for.
export function decider(cell: Cell): { field: "p50" | "p999"; name: string } {
  return cell.kind === "tail" ? { field: "p999", name: "P99.9" } : { field: "p50", name: "P50" };
}

interface Tally { counts: Record<Outcome, number>; judged: number; losses: { cell: Cell; judgement: Judgement }[] }

function tally(cells: Cell[], backends: Backend[], kinds?: BackendKind[]): Tally {
  const result: Tally = { counts: { win: 0, loss: 0, even: 0, void: 0 }, judged: 0, losses: [] };
  for (const cell of cells) {
    const judgement = judge(cell, backends, kinds);
    if (!judgement) continue;
    result.counts[judgement.outcome]++;
    if (judgement.outcome !== "void") result.judged++;
    if (judgement.outcome === "loss") result.losses.push({ cell, judgement });
  }
  return result;
}

/// Every loss by name, those to one rival together: "Lost to Boost.Pool: hot 16 B by 9.0 %, ...".
function lossTexts({ losses }: Tally, backends: Backend[]): string[] {
  const byRival = new Map<string, string[]>();
  for (const { cell, judgement } of losses) {
    const text = `${cellName(cell)} by ${((judgement.ratio - 1) * 100).toFixed(1)}\u00a0%`;
    byRival.set(judgement.best.backend, [...(byRival.get(judgement.best.backend) ?? []), text]);
  }
  return [...byRival].map(([name, texts]) => {
    const rival = backends.find((each) => each.name === name)?.title ?? name;
    return `Lost to ${rival}: ${texts.join(", ")}.`;
  });
}

/// How often the subject is the best of all that compete in the cells that the sentence leaves out.
function othersText(cells: Cell[], backends: Backend[]): string {
  const kinds: [CellKind, string][] = [["tail", "tail (P99.9)"], ["phase", "order"], ["rate", "throughput"]];
  const parts = kinds.flatMap(([kind, name]) => {
    const { counts, judged } = tally(cells.filter((cell) => cell.kind === kind), backends);
    return judged === 0 ? [] : `${counts.win} of ${judged} ${name} cells, losing ${counts.loss}`;
  });
  return parts.length === 0 ? "" : `Best of all that compete in ${parts.join("; in ")}.`;
}

export interface Verdict { sentence: string; losses: string[]; others: string }

/// One sentence that a reader may quote about the body (wins, losses, what was too close, what was too noisy), its
/// losses by name, and the count of the rest.
export function verdictOf(bench: Bench, cells: Cell[]): Verdict {
  const subject = bench.backends.find((each) => each.kind === "subject");
  const body = cells.filter((cell) => cell.kind === "body");
  const all = tally(body, bench.backends);
  if (!subject || all.judged + all.counts.void === 0) {
    return { sentence: "No cell holds both Flatline's pool and a rival.", losses: [], others: "" };
  }
  const general = tally(body, bench.backends, ["general"]);
  const { win, loss, even } = all.counts;
  const sentence =
    `${subject.title} has the lowest median of the general-purpose allocators in ${general.counts.win} of ` +
    `${general.judged} body cells, and of all that compete, fixed-size pools included, in ${win}; ` +
    `it loses ${loss === 0 ? "none" : loss}, ${even} ${even === 1 ? "is" : "are"} too close to call, ` +
    `and ${all.counts.void} more ${all.counts.void === 1 ? "is" : "are"} void.`;
  return { sentence, losses: lossTexts(all, bench.backends), others: othersText(cells, bench.backends) };
}
