// The page of `flatline audit`.

import { auditBar } from "./audit_bar";
import { adviceOn, causeMark, everyCause } from "./audit_causes";
import { curvesSection } from "./audit_curve";
import { readAudit, toldParts, type Audit } from "./audited";
import { FlameSection } from "./audit_flame";
import { auditHead } from "./audit_head";
import { StallTable } from "./audit_stalls";
import { Timeline } from "./audit_timeline";
import { AuditView, Shown } from "./audit_view";
import type { Drawable } from "./chart";
import { followTheme } from "./controls";
import { el } from "./dom";
import { fillRoot } from "./frame";
import { glossarySection, type Term } from "./glossary";
import { saveButton } from "./save";

const everyTerm: Term[] = [
  ["stall", "the slow calls of one operation at one site for one cause."],
  ["site", "the innermost function of the stack that is the program\u2019s own, and none of a library\u2019s."],
  ["P50, P99.9", "half of the slow calls of a stall, 99.9 % of them, took this long or less; in the percentile " +
    "curves: of all calls."],
  ["total", "the time of the calls together: what the program would gain if they took no time."],
  ["first touch", "page faults that strike when the program uses memory for the first time, after it was allocated; " +
    "charged to where the block was allocated."],
  ["undisturbed", "calls in which no system call was told to the audit. Telling one takes time, which is subtracted " +
    "from the others, and cannot be subtracted exactly."],
  ["floor", "empty calls timed in the same way, in the same process: what the audit itself adds."],
  ["worst call", "the longest single call. In the flame graph: of each stack."],
];

const ofTimedCalls = new Set(["undisturbed", "floor", "first touch"]);

/// Where no call was timed there is nothing that some of the terms could mean.
function termsOf({ timed }: Audit): Term[] {
  if (timed) return everyTerm;
  return [...everyTerm.filter(([name]) => !ofTimedCalls.has(name)),
    ["time of a call", `of its ${toldParts} alone, as no call was timed (--causes).`]];
}

/// Those that could be told, where the audit was asked for no others.
function causesSection({ timed, causes_available: told }: Audit): HTMLElement {
  const causes = everyCause.filter(({ name }) => timed || told.includes(name));
  return el("section", { id: "causes", "aria-labelledby": "causes-title" },
    el("h2", { id: "causes-title" }, "Causes",
      el("span", { class: "meaning" }, "what each means, and what to do about it")),
    el("dl", { class: "glossary causes" }, ...causes.map((look) => el("div", {},
      el("dt", {}, causeMark(look), look.name),
      el("dd", {}, el("p", {}, look.means), el("p", { class: "advice" }, ...adviceOn(look)))))));
}

/// Throws iff `text` is not the document of an audit.
export function showAudit(text: string, root: HTMLElement): void {
  const audit = readAudit(text);
  const view = new AuditView();
  followTheme(view);
  const shown = new Shown(audit, view);
  const stalls = new StallTable(shown);
  const timeline = new Timeline(shown, (stall) => stalls.open(stall));
  const curves = curvesSection(shown), flame = new FlameSection(shown);
  const places: [string, string][] = [
    ["stalls", "Stalls"], ["timeline", "Timeline"], ...(curves ? [["curves", "Percentiles"] as [string, string]] : []),
    ["flame", "Flame graph"], ["causes", "Causes"], ["glossary", "Terms"],
  ];
  const charts: Drawable[] = [timeline, ...(curves ? [curves.chart] : []), flame];
  fillRoot(root, {
    title: `flatline audit: ${audit.command}`,
    head: auditHead(audit),
    bar: auditBar(shown, places, saveButton(text, "audit", "audit")),
    sections: [
      stalls.element, timeline.element, curves?.element, flame.element, causesSection(audit),
      glossarySection(termsOf(audit)),
    ],
    footer: audit.schema,
    places,
    charts,
  });
}
