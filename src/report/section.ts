// One cell: its name, how it was measured, who won, the curve or bars, and the table.

import type { Bench, Cell } from "./data";
import { Curve } from "./curve";
import { el, type Child } from "./dom";
import { cellName, figure, method } from "./format";
import { meaningOf } from "./glossary";
import { cellTable, hasBars } from "./table";
import { decider, judge, winnerOf } from "./verdict";
import type { View } from "./view";

const voidText = "void: A and A differed by more than 5 %";

function outcomeLine(bench: Bench, cell: Cell): Child {
  if (cell.isVoid) return el("span", { class: "badge void" }, voidText);
  const { name } = decider(cell);
  const verdict = judge(cell, bench.backends);
  if (!verdict) return null;
  const rival = bench.backends.find((each) => each.name === verdict.best.backend)?.title ?? verdict.best.backend;
  const words = {
    win: `the pool's ${name} is`, loss: `the pool loses: its ${name} is`, even: `even: the pool's ${name} is`,
    void: voidText,
  };
  return el("span", { class: `badge ${verdict.outcome}` },
    `${words[verdict.outcome]} ${figure(verdict.ratio, 2)} × ${rival}'s`);
}

function cellSection(bench: Bench, cell: Cell, view: View): { element: HTMLElement; curve?: Curve } {
  const best = cell.isVoid ? undefined : winnerOf(cell, bench.backends, (row) => row[decider(cell).field]);
  const head = el("header", {},
    el("h3", {}, cellName(cell)),
    el("span", { class: "method" }, method(cell)),
    outcomeLine(bench, cell));
  const attributes = { id: cell.id, class: `cell ${cell.kind}`, "data-cell": cell.id };
  if (hasBars(cell)) return { element: el("article", attributes, head, cellTable(bench, cell, best)) };
  const curve = new Curve(bench, cell, view);
  const body = el("div", { class: "pair" }, curve.element, cellTable(bench, cell, best));
  return { element: el("article", attributes, head, body), curve };
}

/// The section of a suite and the curves in it, which need drawing once the section is in the document.
export function suiteSection(bench: Bench, suite: string, cells: Cell[], view: View):
    { element: HTMLElement; curves: Curve[] } {
  const sections = cells.map((cell) => cellSection(bench, cell, view));
  const element = el("section", { id: suite, "aria-labelledby": `${suite}-title` },
    el("h2", { id: `${suite}-title` }, suite, el("span", { class: "meaning" }, meaningOf(suite))),
    ...sections.map((section) => section.element));
  return { element, curves: sections.flatMap((section) => section.curve ?? []) };
}
