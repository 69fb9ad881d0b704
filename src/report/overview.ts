// The whole run at a glance: cells down, backends across, the winner of each cell and every loss marked.

import { measuredIn, type Backend, type Bench, type Cell, type CellKind, type Row } from "./data";
import { el, scrollBox, type Child } from "./dom";
import { figure, inCell, range } from "./format";
import { looksOf, swatch } from "./palette";
import { decider, inWords, isOurs, judge, rivalsOf, winnerOf, type Judgement } from "./verdict";

interface Matrix { kind: CellKind; title: string; unit: string; note: string }

const matrices: Matrix[] = [
  { kind: "body", title: "Body", unit: "P50, ns per alloc+free pair, blocks of calls", note: "" },
  { kind: "tail", title: "Tail", unit: "P99.9, ns, each call or request timed by itself",
    note: "The floor of a single call is mostly the timer's own resolution." },
  { kind: "drift", title: "Drift", unit: "median window of a long run, ns", note: "" },
  { kind: "phase", title: "Phases", unit: "P50, ns each, means over whole phases", note: "" },
  { kind: "rate", title: "Throughput", unit: "P50, Mops/s, of tasks Mtasks/s, higher is better", note: "" },
  { kind: "bytes", title: "Memory", unit: "P50, bytes for each live block", note: "" },
  { kind: "round", title: "Containers", unit: "P50, ns a round of the standard containers",
    note: "The front and each cell compare a resource with the one that it replaces." },
];

const words = { win: "wins", loss: "loses", even: "even", void: "void" };

function valueCell(cell: Cell, row: Row | undefined, backend: Backend, backends: Backend[],
                   winner: Row | undefined): HTMLElement {
  const attributes = { "data-backend": backend.name, "data-kind": backend.kind };
  if (!row) return el("td", { ...attributes, class: "absent" }, "\u2014");
  const wins = row === winner;
  const loses = isOurs(backend) && judge(cell, backends, rivalsOf(backend), backend)?.outcome === "loss";
  return el("td", { ...attributes, class: wins ? "winner" : loses ? "loser" : undefined },
    wins ? el("span", { class: "mark", title: "best of the competing allocators" }, "\u25cf") : null,
    loses ? el("span", { class: "mark", title: "not the best in this cell" }, "\u25bc") : null,
    el("span", { "data-figure": cell.id }, inCell(cell, row[decider(cell).field])));
}

function ratioCell(cell: Cell, verdict: Judgement | undefined, against: string): HTMLElement {
  if (!verdict) return el("td", { class: "ratio absent" }, "\u2014");
  const written = (value: number) => figure(value, 2);
  const title = `against ${verdict.best.backend}: ${inWords(cell, verdict)}`;
  return el("td", { class: `ratio ${verdict.outcome}`, title, "data-ratio": cell.id, "data-against": against },
    el("span", {}, written(verdict.ratio)), " ", el("span", { class: "word" }, words[verdict.outcome]),
    el("small", {}, range(verdict.low, verdict.high, written)));
}

function matrixRow(cell: Cell, backends: Backend[]): HTMLElement {
  const winner = winnerOf(cell, backends);
  const verdict = judge(cell, backends);
  return el("tr", { class: cell.isVoid ? "void" : undefined },
    el("th", { scope: "row" }, el("a", { href: `#${cell.id}` }, cell.name)),
    ...(cell.kind === "round" ? []
      : [ratioCell(cell, verdict, "any"), ratioCell(cell, judge(cell, backends, ["general"]), "general")]),
    ...backends.map((backend) =>
      valueCell(cell, cell.rows.find((row) => row.backend === backend.name), backend, backends, winner)));
}

/// A long name may wrap after a "_" or "/", so that a column is no wider than its figures need.
function breakable(name: string): Child[] {
  return name.split(/(?<=[_/])/).flatMap((part, i) => (i > 0 ? [el("wbr"), part] : [part]));
}

function matrixTable(matrix: Matrix, cells: Cell[], backends: Backend[]): HTMLElement | null {
  const rows = cells.filter((cell) => cell.kind === matrix.kind && cell.ranked);
  if (rows.length === 0) return null;
  const looks = looksOf(backends);
  const caption = `${matrix.title}: ${matrix.unit}`;
  return el("section", { class: "matrix", "data-matrix": matrix.kind },
    scrollBox(caption,
      el("table", {},
        el("caption", {}, el("span", {}, el("b", {}, matrix.title), ` ${matrix.unit}. `, matrix.note)),
        el("thead", {}, el("tr", {},
          el("th", { scope: "col" }, "Cell"),
          ...(matrix.kind === "round" ? [] : ["pool ÷ best rival", "pool ÷ best general"])
            .map((head) => el("th", { scope: "col" }, head)),
          ...backends.map((backend) => {
            const look = looks.get(backend.name);
            return el("th", { scope: "col", "data-backend": backend.name, "data-kind": backend.kind },
              ...breakable(backend.title), look ? swatch(look) : null);
          }))),
        el("tbody", {}, ...rows.map((cell) => matrixRow(cell, backends))))));
}

/// Columns in the order of comparison: the subject and its bounds first, then the rivals.
function columnOrder(backends: Backend[]): Backend[] {
  const rank = ["subject", "again", "control", "unchecked", "standard", "drop-in", "general", "fixed-pool", "one-to-one",
    "alternative"];
  return [...backends].sort((a, b) => rank.indexOf(a.kind) - rank.indexOf(b.kind));
}

export function overviewSection(bench: Bench, cells: Cell[]): HTMLElement {
  const measured = new Set(bench.cells.map((row) => row.backend));
  const columns = (inRounds: boolean) =>
    columnOrder(measuredIn(bench, inRounds).filter((each) => measured.has(each.name)));
  return el("section", { id: "overview", "aria-labelledby": "overview-title" },
    el("h2", { id: "overview-title" }, "Overview"),
    el("p", { class: "key" },
      el("span", { class: "winner" }, "\u25cf best"), " of the competing allocators; ",
      el("span", { class: "loser" }, "\u25bc an allocator of Flatline, if a rival is better"), "; ",
      "even: no difference larger than that between A/A copies, or none on which the rounds agree; ",
      "void: the A/A copies differed by more than 5 %; below each ratio its 95 % interval. ",
      "The floor (empty calls) and the unchecked list are shown and do not compete; ",
      "figures that measure no merit are in their sections only."),
    ...matrices.map((matrix) => matrixTable(matrix, cells, columns(matrix.kind === "round"))));
}
