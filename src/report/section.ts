// One cell: its name, how it was measured, the winner, the chart or bars, and the table.

import type { Bench, Cell, Row } from "./data";
import type { Chart } from "./chart";
import { Curve } from "./curve";
import { el, type Child } from "./dom";
import { DriftChart } from "./drift";
import { method } from "./format";
import { meaningOf } from "./glossary";
import { contestTable } from "./rounds";
import { cellTable, hasBars } from "./table";
import { countsTable } from "./tasks";
import { decider, inWords, isOurs, judge, rivalsOf, subjectOf, winnerOf } from "./verdict";
import type { View } from "./view";

const voidText = "void: the A/A copies differed by more than 5 %";

function outcomeLine(bench: Bench, cell: Cell): Child {
  if (cell.isVoid) return el("span", { class: "badge void" }, voidText);
  if (!cell.ranked) return el("span", { class: "badge" }, "not ranked: it measures no merit");
  const { name } = decider(cell);
  const subject = subjectOf(cell, bench.backends) ??
    bench.backends.find((each) => isOurs(each) && cell.rows.some((row) => row.backend === each.name));
  const verdict = subject && judge(cell, bench.backends, rivalsOf(subject), subject);
  if (!subject || !verdict) return null;
  const rival = bench.backends.find((each) => each.name === verdict.best.backend)?.title ?? verdict.best.backend;
  const beside = { win: "wins over", loss: "loses to", even: "and", void: voidText };
  return el("span", { class: `badge ${verdict.outcome}`, "data-verdict": cell.id },
    `${subject.title} ${beside[verdict.outcome]} ${rival}: `, el("span", { class: "words" }, inWords(cell, verdict)), ` (${name})`);
}

function cellSection(bench: Bench, cell: Cell, view: View): { element: HTMLElement; chart?: Chart<Row> } {
  const table = cellTable(bench, cell, winnerOf(cell, bench.backends));
  const head = el("header", {},
    el("h3", {}, cell.name),
    el("span", { class: "method" }, method(cell)),
    outcomeLine(bench, cell));
  const attributes = {
    id: cell.id, class: `cell ${cell.kind}`, "data-cell": cell.id, style: `--rows: ${cell.rows.length}`,
  };
  if (hasBars(cell)) return { element: el("article", attributes, head, table) };
  const chart = cell.kind === "drift" ? new DriftChart(bench, cell, view) : new Curve(bench, cell, view);
  const contests = cell.kind === "round" && contestTable(bench, cell);
  const pair = el("div", { class: "pair" }, chart.element, table);
  return { element: el("article", attributes, head, pair, contests, countsTable(bench, cell)), chart };
}

/// The section of a suite and its charts, which must be drawn once the section is in the document.
export function suiteSection(bench: Bench, suite: string, cells: Cell[], view: View):
    { element: HTMLElement; name: string; charts: Chart<Row>[] } {
  const sections = cells.map((cell) => cellSection(bench, cell, view));
  const id = suite.replace(/\s+/g, "-");
  const element = el("section", { id, "aria-labelledby": `${id}-title` },
    el("h2", { id: `${id}-title` }, suite, el("span", { class: "meaning" }, meaningOf(suite))),
    ...sections.map((section) => section.element));
  return { element, name: suite, charts: sections.flatMap((section) => section.chart ?? []) };
}
