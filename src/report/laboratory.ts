// The page of `flatline bench`.

import type { Drawable } from "./chart";
import { followTheme, toolbar } from "./controls";
import { groupCells, readBench, type Bench, type Cell } from "./data";
import { el } from "./dom";
import { environmentSection } from "./environment";
import { figure } from "./format";
import { fillRoot } from "./frame";
import { glossarySection } from "./glossary";
import { overviewSection } from "./overview";
import { programsSection } from "./programs";
import { saveButton } from "./save";
import { suiteSection } from "./section";
import { summary } from "./summary";
import { View } from "./view";

function mastHead(bench: Bench, cells: Cell[]): HTMLElement {
  const here = bench.environment;
  const when = bench.started.replace("T", " ").replace("Z", " UTC");
  const run = `${figure(bench.duration_seconds, 0)} s, ${bench.rounds} rounds of fresh processes`;
  return el("header", { class: "mast" },
    el("h1", {}, "flatline bench", el("span", { class: "mode" }, bench.mode)),
    el("p", { class: "run" }, `${here.processor} · ${when} · ${run}`),
    ...summary(bench, cells));
}

/// Throws iff `text` is not the document of a run.
export function showBench(text: string, root: HTMLElement): void {
  const bench = readBench(text);
  const view = new View();
  followTheme(view);
  const cells = groupCells(bench);
  const suites = [...new Set(cells.map((cell) => cell.suite))];
  const sections = [
    ...suites.map((suite) => suiteSection(bench, suite, cells.filter((cell) => cell.suite === suite), view)),
    ...(bench.programs.length > 0 ? [programsSection(bench, view)] : []),
  ];
  const places = [
    ["environment", "Environment"], ...(cells.length > 0 ? [["overview", "Overview"]] : []),
    ...sections.map(({ element, name }) => [element.id, name]), ["glossary", "Terms"],
  ] as [string, string][];
  fillRoot(root, {
    title: `flatline bench: ${bench.environment.processor}`,
    head: mastHead(bench, cells),
    bar: toolbar(bench, view, places, saveButton(text, bench.started)),
    sections: [
      environmentSection(bench),
      cells.length > 0 && overviewSection(bench, cells),
      ...sections.map((section) => section.element),
      glossarySection(),
    ],
    footer: `${bench.schema} · Flatline ${bench.environment.flatline_version}`,
    places,
    charts: sections.flatMap(({ charts }): Drawable[] => charts),
  });
}
