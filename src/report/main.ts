// Builds the page from the data inside it.

import "uplot/dist/uPlot.min.css";
import "./page.css";
import { drawAll, type Drawable } from "./chart";
import { followReading, followTheme, toolbar } from "./controls";
import { groupCells, readBench, type Bench, type Cell } from "./data";
import { el } from "./dom";
import { environmentSection } from "./environment";
import { figure } from "./format";
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

function show(bench: Bench, text: string, root: HTMLElement): void {
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
  root.append(
    mastHead(bench, cells),
    toolbar(bench, view, places, saveButton(text, bench.started)),
    el("main", {},
      environmentSection(bench),
      cells.length > 0 && overviewSection(bench, cells),
      ...sections.map((section) => section.element),
      glossarySection()),
    el("footer", {}, `${bench.schema} · Flatline ${bench.environment.flatline_version} · this file needs no network`));
  followReading(places);
  document.title = `flatline bench: ${bench.environment.processor}`;
  drawAll(sections.flatMap(({ charts }): Drawable[] => charts), () => {
    root.dataset["drawn"] = "true";
  });
  root.dataset["ready"] = String(Math.round(performance.now())); // ms since the page was requested
}

function start(): void {
  const root = document.getElementById("page");
  const data = document.getElementById("flatline-data");
  if (!root || !data) return;
  try {
    const text = data.textContent ?? "";
    show(readBench(text), text, root);
  } catch (error) {
    root.replaceChildren(el("p", { class: "failure", role: "alert" },
      `The data in this page cannot be shown (${error instanceof Error ? error.message : error}); ` +
      "write the page again with `flatline bench --html`."));
    throw error;
  }
}

start();
