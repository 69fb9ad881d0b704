// Real programs: for each, time against memory under every allocator, and a table of all figures.

import type { Bench, Program, ProgramRow, Spread } from "./data";
import { el, scrollBox, type Child } from "./dom";
import { count, figure, noFigure, percent, range } from "./format";
import { FrontierChart } from "./frontier";
import { meaningOf } from "./glossary";
import { looksOf, swatch } from "./palette";
import { figureCell, headCell, type Column } from "./table";
import type { View } from "./view";

const kibInMib = 1024;

/// A median, with the lowest and highest process below it.
function spreadColumn(field: keyof ProgramRow & string, head: string, unit: string, spread: (row: ProgramRow) => Spread,
                      write: (value: number) => string): Column<ProgramRow> {
  return {
    field, head, unit, text: (row) => write(spread(row).median),
    below: (row) => ({ field: `${field}_range`, text: range(spread(row).low, spread(row).high, write) }),
  };
}

const seconds = (value: number) => figure(value, 2);
const mib = (kib: number) => figure(kib / kibInMib, 1);
const millions = (value: number) => figure(value / 1e6, 2);
const billions = (value: number) => figure(value / 1e9, 2);

const columns: Column<ProgramRow>[] = [
  spreadColumn("wall_s", "Wall", "s", (row) => row.wall_s, seconds),
  spreadColumn("peak_rss_kib", "Peak\nresident", "MiB", (row) => row.peak_rss_kib, mib),
  spreadColumn("user_s", "User", "s", (row) => row.user_s, seconds),
  spreadColumn("system_s", "System", "s", (row) => row.system_s, seconds),
  spreadColumn("final_rss_kib", "Final\nresident", "MiB", (row) => row.final_rss_kib, mib),
  spreadColumn("page_faults", "Faults", "pages", (row) => row.page_faults, count),
  { field: "system_calls", head: "System\ncalls", unit: "", text: (row) => count(row.system_calls) },
  { field: "instructions", head: "Instruc-\ntions", unit: "billions",
    text: (row) => (row.instructions ? billions(row.instructions.median) : noFigure),
    below: ({ instructions }) => instructions
      ? { field: "instructions_range", text: range(instructions.low, instructions.high, billions) } : undefined },
  { field: "allocations", head: "Alloca-\ntions", unit: "millions", text: (row) => millions(row.allocations),
    below: (row) => ({ field: "frees", text: millions(row.frees) }) },
  { field: "allocator_share", head: "In the\nallocator", unit: "CPU time",
    text: (row) => percent(row.allocator_share) },
  { field: "processes", head: "Runs", unit: "", text: (row) => count(row.processes) },
];

function programTable(bench: Bench, program: Program): HTMLElement {
  const looks = looksOf(bench.backends);
  const titles = new Map(bench.backends.map((each) => [each.name, each.title]));
  const line = (row: ProgramRow): HTMLElement => {
    const look = looks.get(row.backend);
    const mark = row.frontier && el("span", { class: "mark", title: "on the frontier" }, "\u25cf");
    return el("tr", { "data-backend": row.backend, class: row.frontier ? "winner" : undefined },
      el("th", { scope: "row" }, look ? swatch(look) : null, titles.get(row.backend) ?? row.backend, mark),
      ...columns.map((column) => figureCell(column, row)));
  };
  const rows = [...program.rows].sort((a, b) => a.wall_s.median - b.wall_s.median);
  const uncounted = rows.every((row) => row.instructions === null)
    ? `; ${noFigure}: this machine cannot count instructions` : "";
  return el("div", { class: "figures" },
    scrollBox(`Figures of ${program.title}`,
      el("table", {},
        el("caption", {}, el("span", {},
          `least wall time first; \u25cf frontier; small figures: lowest to highest process, frees${uncounted}`)),
        el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Allocator"), ...columns.map(headCell))),
        el("tbody", {}, ...rows.map(line)))));
}

/// The library that served the calls, read from the process that allocates.
function identities(bench: Bench, program: Program): HTMLElement {
  const titles = new Map(bench.backends.map((each) => [each.name, each.title]));
  const rows = program.rows.map((row) => el("tr", {},
    el("th", { scope: "row" }, titles.get(row.backend) ?? row.backend),
    el("td", {}, row.version), el("td", {}, row.path), el("td", {}, row.settings)));
  return el("details", {},
    el("summary", {}, "The libraries that served the calls: version, path and settings"),
    scrollBox(`Allocators of ${program.title}`,
      el("table", { class: "plain" },
        el("caption", {}, el("span", {}, `Read in ${program.process} while it ran.`)),
        el("thead", {}, el("tr", {},
          ...["Allocator", "Version", "Path", "Settings"].map((name) => el("th", { scope: "col" }, name)))),
        el("tbody", {}, ...rows))));
}

function notes(bench: Bench, program: Program): Child[] {
  const titles = new Map(bench.backends.map((each) => [each.name, each.title]));
  const note = (name: string, text: string) => el("p", { class: `note ${name}` }, text);
  return [
    program.missing !== null && note("missing", `Not measured, because it was not found: ${program.missing}`),
    ...program.shortfalls.map((text) => note("shortfall", `Says little about allocators: ${text}.`)),
    ...program.errors.map(({ backend, message }) =>
      note("failed", `${titles.get(backend) ?? backend} failed: ${message}`)),
  ];
}

function programSection(bench: Bench, program: Program, view: View): { element: HTMLElement; chart?: FrontierChart } {
  const others = program.process === program.clock ? "" : `, wall time of ${program.clock}`;
  const head = el("header", {},
    el("h3", {}, program.title),
    el("span", { class: "method" }, [program.version, program.work].filter(Boolean).join("; ")),
    program.rows.length > 0 && el("span", { class: "method" }, `figures of ${program.process}${others}`));
  const attributes = { id: `program-${program.name}`, class: "cell program", "data-program": program.name,
    style: `--rows: ${program.rows.length}` };
  if (program.rows.length === 0) return { element: el("article", attributes, head, ...notes(bench, program)) };
  const chart = new FrontierChart(bench, program, view);
  return {
    element: el("article", attributes, head, ...notes(bench, program),
      el("div", { class: "pair" }, chart.element, programTable(bench, program)), identities(bench, program)),
    chart,
  };
}

/// The allocators on the frontier and in how many programs, most frequent first; empty iff no program was measured.
export function frontierText(bench: Bench): string {
  const measured = bench.programs.filter((program) => program.rows.length > 0);
  if (measured.length === 0) return "";
  const times = bench.backends.map(({ name, title }): [string, number] =>
    [title, measured.filter(({ rows }) => rows.some((row) => row.backend === name && row.frontier)).length]);
  const named = times.filter(([, often]) => often > 0).sort((a, b) => b[1] - a[1])
    .map(([title, often]) => `${title} in ${often}`);
  return `On the frontier of time and memory in ${measured.length} real ` +
    `${measured.length === 1 ? "program" : "programs"}: ${named.join(", ")}.`;
}

/// The section of all programs and its charts, which must be drawn once the section is in the document.
export function programsSection(bench: Bench, view: View):
    { element: HTMLElement; name: string; charts: FrontierChart[] } {
  const sections = bench.programs.map((program) => programSection(bench, program, view));
  const element = el("section", { id: "programs", "aria-labelledby": "programs-title" },
    el("h2", { id: "programs-title" }, "programs", el("span", { class: "meaning" }, meaningOf("programs"))),
    ...sections.map((section) => section.element));
  return { element, name: "programs", charts: sections.flatMap((section) => section.chart ?? []) };
}
