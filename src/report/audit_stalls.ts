// The table of stalls: a row for each, which opens to its whole stack.

import { callsInWords, firstTouch } from "./audit_head";
import { adviceOn, causeMark, lookOfCause } from "./audit_causes";
import { sourceOf, toldParts, type StackFrame, type Stall } from "./audited";
import type { Shown, ShownStall } from "./audit_view";
import { drawnSoon } from "./chart";
import { el, type Child } from "./dom";
import { count, duration } from "./format";

const atFirst = 100;  // rows that are shown at once
const longest = 90;   // characters of a function's name in a row; the opened row has all of them

type Order = "total_ns" | "max_ns" | "p999_ns" | "p50_ns" | "count";
const orders: [Order, string][] = [["total_ns", "total time"], ["max_ns", "worst call"], ["p999_ns", "P99.9"],
  ["p50_ns", "P50"], ["count", "count"]];

/// A long name without its middle.
export function shortened(name: string, most = longest): string {
  const end = Math.floor(most / 3);
  return name.length <= most ? name : `${name.slice(0, most - end - 1)}\u2026${name.slice(-end)}`;
}

function frameItem(frame: StackFrame, isSite: boolean): HTMLElement {
  const source = frame.file === "" ? "" : frame.line > 0 ? `${frame.file}:${frame.line}` : frame.file;
  return el("li", { class: isSite ? "own" : undefined },
    el("span", { class: "function" }, frame.function),
    frame.inlined && el("span", { class: "tag" }, "inlined"),
    isSite && el("span", { class: "tag own" }, "the program\u2019s own"),
    el("span", { class: "source" }, source || frame.module));
}

/// The frame that is the stall's site: the first that stands where the site does.
function siteIndex({ site, stack }: Stall): number {
  return stack.findIndex((frame) =>
    frame.function === site?.function && frame.file === site.file && frame.line === site.line);
}

function details(stall: ShownStall): HTMLElement {
  const own = siteIndex(stall);
  const size = stall.operation === firstTouch ? "The largest block has" : "The largest request was for";
  const bytes = stall.largest_bytes > 0 && ` ${size} ${count(stall.largest_bytes)} bytes.`;
  return el("div", { class: "stall-details" },
    el("p", {}, `${callsInWords(stall)}; the slowest began ${(stall.at_ns / 1e9).toFixed(6)} s after the audit, `,
      "in thread ", el("span", { class: "name" }, stall.thread), ".", bytes,
      ` In all of them: ${count(stall.page_faults)} page faults and ${count(stall.system_calls)} system calls.`),
    el("p", {}, ...adviceOn(lookOfCause(stall.cause_kind))),
    stall.stack.length === 0 ? el("p", {}, "Its stack is not known.")
      : el("ol", { class: "stack", "aria-label": "Stack of the slowest call, innermost first" },
        ...stall.stack.map((frame, i) => frameItem(frame, i === own))));
}

const columns: [string, string, (stall: ShownStall) => Child][] = [
  ["operation", "Operation", (stall) => stall.operation],
  ["cause", "Cause", (stall) => el("span", { class: "cause" }, causeMark(lookOfCause(stall.cause_kind)), stall.cause)],
  ["count", "Count", (stall) => count(stall.count)],
  ["p50_ns", "P50", (stall) => duration(stall.p50_ns)],
  ["p999_ns", "P99.9", (stall) => duration(stall.p999_ns)],
  ["max_ns", "Worst", (stall) => duration(stall.max_ns)],
  ["total_ns", "Total", (stall) => duration(stall.total_ns)],
  ["thread", "Thread of the worst", (stall) => stall.thread],
];

export class StallTable {
  readonly element: HTMLElement;
  private readonly body = el("tbody");
  private readonly note = el("p", { class: "key" });
  private readonly more = el("button", { type: "button", class: "more", click: () => {
    this.all = true;
    this.fill();
  } });
  private readonly opened = new Set<number>(); // by their places in the document
  private order: Order = "total_ns";
  private all = false;

  constructor(private readonly shown: Shown) {
    const select = el("select", { "data-order": true, change: () => {
      this.order = select.value as Order;
      this.fill();
    } }, ...orders.map(([field, name]) => el("option", { value: field }, name)));
    const table = el("table", { class: "stalls" },
      el("thead", {}, el("tr", {},
        ...["Site", ...columns.map(([, head]) => head)].map((head) => el("th", { scope: "col" }, head)))),
      this.body);
    this.element = el("section", { id: "stalls", "aria-labelledby": "stalls-title" },
      el("h2", { id: "stalls-title" }, "Stalls",
        el("span", { class: "meaning" }, "slow calls by site and cause, worst first; a row opens to its stack")),
      el("div", { class: "beside" }, this.note, el("label", { class: "scale-choice" }, "Order by ", select)),
      table, this.more);
    shown.view.onChange(drawnSoon(() => this.fill()));
    this.fill();
  }

  /// Opens the row of this stall and goes there.
  open(index: number): void {
    this.opened.add(index);
    this.all ||= this.sorted().findIndex((stall) => stall.index === index) >= atFirst;
    this.fill();
    const button = this.body.querySelector<HTMLElement>(`tr[data-stall="${index}"] button`);
    button?.scrollIntoView({ block: "center" });
    button?.focus({ preventScroll: true });
  }

  private sorted(): ShownStall[] {
    return this.shown.stalls().sort((a, b) => b[this.order] - a[this.order]);
  }

  private row(stall: ShownStall): HTMLElement[] {
    const isOpen = this.opened.has(stall.index), id = `stack-${stall.index}`;
    const name = stall.site?.function ?? "an unknown place", source = stall.site ? sourceOf(stall.site) : "";
    const button = el("button", { type: "button", class: "opener", "aria-expanded": String(isOpen),
      "aria-controls": isOpen && id, click: () => this.toggle(stall.index) },
      el("span", { class: "function" }, shortened(name)), el("span", { class: "source" }, source));
    const row = el("tr", { "data-stall": stall.index, class: isOpen ? "open" : undefined },
      el("th", { scope: "row" }, button),
      ...columns.map(([field, head, text]) => el("td", { "data-field": field, "data-head": head }, text(stall))));
    if (!isOpen) return [row];
    return [row, el("tr", { class: "opened", id }, el("td", { colspan: columns.length + 1 }, details(stall)))];
  }

  private toggle(index: number): void {
    if (!this.opened.delete(index)) this.opened.add(index);
    this.fill();
    this.body.querySelector<HTMLElement>(`tr[data-stall="${index}"] button`)?.focus();
  }

  private fill(): void {
    const { audit, view } = this.shown, stalls = this.sorted();
    const cut = this.all ? stalls : stalls.slice(0, atFirst);
    this.body.replaceChildren(...cut.flatMap((stall) => this.row(stall)));
    this.more.hidden = cut.length === stalls.length;
    this.more.textContent = `Show all ${count(stalls.length)} rows`;
    const listed = audit.slow_calls.length, every = audit.slow_count;
    this.note.textContent = audit.stalls.length === 0 ? "There is no stall to show."
      : stalls.length === 0 ? "No stall has this cause in this thread."
      : view.thread === null ? (audit.timed ? "Figures are of the slow calls at the site alone, and nothing is trimmed."
        : `Figures are of the ${toldParts} in the slow calls at the site, and nothing is trimmed.`)
      : `Figures are of this thread\u2019s slow calls${listed < every
        ? `, as far as they are among the ${count(listed)} longest of ${count(every)}` : ""}.`;
  }
}
