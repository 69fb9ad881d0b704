// Builds the page from the data inside it.

import "uplot/dist/uPlot.min.css";
import "./page.css";
import { followReading, followTheme, toolbar } from "./controls";
import { groupCells, readBench, type Bench, type Cell } from "./data";
import { el } from "./dom";
import { environmentSection } from "./environment";
import { figure } from "./format";
import { glossarySection } from "./glossary";
import { overviewSection } from "./overview";
import { suiteSection } from "./section";
import { verdictOf } from "./verdict";
import { View } from "./view";

function mastHead(bench: Bench, cells: Cell[]): HTMLElement {
  const here = bench.environment;
  const when = bench.started.replace("T", " ").replace("Z", " UTC");
  const run = `${figure(bench.duration_seconds, 0)} s, ${bench.rounds} rounds of fresh processes`;
  const verdict = verdictOf(bench, cells);
  return el("header", { class: "mast" },
    el("h1", {}, "flatline bench", el("span", { class: "mode" }, bench.mode)),
    el("p", { class: "run" }, `${here.processor} · ${when} · ${run}`),
    el("p", { class: "verdict" }, verdict.sentence),
    ...verdict.losses.map((text) => el("p", { class: "losses" }, text)),
    verdict.others !== "" && el("p", { class: "others" }, verdict.others));
}

function show(bench: Bench, root: HTMLElement): void {
  const view = new View();
  followTheme(view);
  const cells = groupCells(bench);
  const suites = [...new Set(cells.map((cell) => cell.suite))];
  const places: [string, string][] = [
    ["environment", "Environment"], ["overview", "Overview"],
    ...suites.map((suite): [string, string] => [suite, suite]), ["glossary", "Terms"],
  ];
  const sections = suites.map((suite) =>
    suiteSection(bench, suite, cells.filter((cell) => cell.suite === suite), view));
  root.append(
    mastHead(bench, cells),
    toolbar(bench, view, places),
    el("main", {},
      environmentSection(bench),
      overviewSection(bench, cells),
      ...sections.map((section) => section.element),
      glossarySection()),
    el("footer", {}, `${bench.schema} · Flatline ${bench.environment.flatline_version} · this file needs no network`));
  for (const { curves } of sections) for (const curve of curves) curve.draw();
  followReading(places);
  document.title = `flatline bench: ${bench.environment.processor}`;
  root.dataset["ready"] = "true";
}

function start(): void {
  const root = document.getElementById("page");
  const data = document.getElementById("flatline-data");
  if (!root || !data) return;
  try {
    show(readBench(data.textContent ?? ""), root);
  } catch (error) {
    root.replaceChildren(el("p", { class: "failure", role: "alert" },
      `The data in this page cannot be shown (${error instanceof Error ? error.message : error}); ` +
      "write the page again with `flatline bench --html`."));
    throw error;
  }
}

start();
