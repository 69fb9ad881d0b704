// The machine that the figures were measured on, and how far it can be trusted.

import type { Bench, Hiccups } from "./data";
import { el, scrollBox, type Child } from "./dom";
import { count, figure, sizeName } from "./format";

function hiccupText(hiccups: Hiccups | undefined): string {
  if (!hiccups || hiccups.seconds === 0) return "not measured";
  const rate = hiccups.over_10us_per_second ?? hiccups.over_10us / hiccups.seconds;
  const lost = hiccups.lost_us_per_second;
  const stolen = lost === undefined ? "" : `, ${figure(lost, 0)} µs a second lost`;
  return `${figure(rate, 0)} a second over 10 µs${stolen}, longest ${count(hiccups.max_ns)} ns`;
}

function facts(bench: Bench): [string, string][] {
  const here = bench.environment;
  const timer = here.timer;
  return [
    ["processor", `${here.processor}, ${here.logical_cpus} logical`],
    ["pinned to", `CPU ${here.pinned_cpu}`],
    ["kernel", here.kernel],
    ["hypervisor", here.hypervisor],
    ["compiler", here.compiler],
    ["flags", here.flags],
    ["timer", `${timer.name}, ${figure(timer.frequency_hz / 1e6, 1)} MHz, tick ${figure(timer.tick_ns, 3)} ns, ` +
      `cost ${figure(timer.cost_ns, 1)} ns a call`],
    ["huge pages", here.transparent_huge_pages],
    ["governor", here.governor],
    ["SMT", here.smt],
    ["isolated CPUs", here.isolated_cpus || "none"],
    ["nohz_full", here.nohz_full || "none"],
    ["steal", `${figure(here.steal_percent, 2)} %`],
    ["context switches", count(here.context_switches)],
    ["migrations", count(here.migrations)],
    ["hiccups before", hiccupText(here.hiccups?.before)],
    ["hiccups between", hiccupText(here.hiccups?.between)],
    ["hiccups after", hiccupText(here.hiccups?.after)],
    ["Flatline", here.flatline_version],
  ];
}

/// Why the far tail may come from the machine; null on a quiet machine without a hypervisor and with isolated CPUs.
function caution({ environment: here }: Bench): HTMLElement | null {
  const reasons = [
    here.hypervisor !== "none" && `a virtual machine (${here.hypervisor})`,
    here.steal_percent > 0 && `steal ${figure(here.steal_percent, 2)} %`,
    !here.isolated_cpus && "no isolated CPU",
  ].filter(Boolean);
  if (reasons.length === 0) return null;
  return el("p", { class: "note" },
    `Measured on ${reasons.join(", ")}: maxima and far tails include the machine's own interruptions. ` +
    "Compare them with those of the floor, which met the same interruptions.");
}

function allocatorTable(bench: Bench): HTMLElement {
  const titles = new Map(bench.backends.map((each) => [each.name, each.title]));
  const rows = bench.environment.allocators.map((each) => el("tr", {},
    el("th", { scope: "row" }, titles.get(each.backend) ?? each.backend),
    el("td", {}, each.version),
    el("td", {}, each.path, each.own_code === false && ", in pages that its processes share"),
    el("td", {}, each.source ? `${each.source}: ${each.flags}` : each.flags)));
  return scrollBox("Allocators, as found at run time",
    el("table", { class: "plain" },
      el("caption", {}, el("span", {}, "Read at run time in the process that was timed.")),
      el("thead", {}, el("tr", {},
        ...["Allocator", "Version", "Path", "Flags"].map((name) => el("th", { scope: "col" }, name)))),
      el("tbody", {}, ...rows)));
}

function missingList(bench: Bench): Child {
  if (bench.missing.length === 0) return null;
  return el("section", { class: "missing", "aria-labelledby": "missing" },
    el("h3", { id: "missing" }, "Not measured, because they were not found"),
    el("ul", {}, ...bench.missing.map((each) => el("li", {}, el("b", {}, each.name), " ", el("code", {}, each.how)))));
}

function failureList(bench: Bench): Child {
  const failures = bench.errors;
  if (failures.length === 0) return null;
  return el("section", { class: "missing", "aria-labelledby": "failed" },
    el("h3", { id: "failed" }, "Failed during the measurement"),
    el("ul", {}, ...failures.map(({ backend, suite, size, order, message }) => {
      const place = [suite, sizeName(suite, size), order].filter(Boolean).join(" ");
      return el("li", {}, el("b", {}, backend), ` in ${place}: ${message}`);
    })));
}

export function environmentSection(bench: Bench): HTMLElement {
  return el("section", { id: "environment", "aria-labelledby": "environment-title" },
    el("h2", { id: "environment-title" }, "Environment"),
    caution(bench),
    el("dl", { class: "facts" },
      ...facts(bench).map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value)))),
    el("details", {},
      el("summary", {}, "Allocators: version, path and flags of everything timed"),
      allocatorTable(bench)),
    missingList(bench),
    failureList(bench));
}
