// The regret matrix: workloads down, policies across, the worst case of each policy in the last row.

import type { Lines } from "./data";
import { el, scrollBox } from "./dom";
import { percentMore, refusedShare } from "./format";
import { looksOf, swatch } from "./palette";
import { worstOf, type SimulatedCell, type WorkloadCells, type Worst } from "./simulated";

/// The distance from the best that the project allows its default.
export const near = 0.05;

type Nearness = "best" | "near" | "far";

function nearness(regret: number): Nearness {
  return regret === 0 ? "best" : regret <= near ? "near" : "far";
}

const marks = { best: "\u25cf", near: "\u25cb", far: "" };
const meanings = { best: "the least P99.9 of this workload", near: "within 5 % of the least P99.9", far: "" };

function regretText(regret: number): HTMLElement {
  const close = nearness(regret);
  return el("span", { class: "regret" },
    marks[close] && el("span", { class: "mark", title: meanings[close] }, marks[close]),
    el("span", { "data-field": "regret" }, percentMore(regret)));
}

function refusedText(refusedMore: number): string {
  const text = refusedShare(refusedMore);
  return text.startsWith("<") ? text : `+${text}`;
}

function valueCell(policy: string, cell: SimulatedCell | undefined): HTMLElement {
  if (!cell) return el("td", { class: "absent", "data-backend": policy }, "\u2014");
  return el("td", { class: nearness(cell.regret), "data-backend": policy },
    regretText(cell.regret),
    cell.refused_more > 0 && el("small", { class: "refused", title: "refuses so many more of the tasks" }, "\u2717 ",
      el("span", { "data-field": "refused_more" }, refusedText(cell.refused_more))));
}

function worstRegret({ policy, regret }: Worst): HTMLElement {
  return el("td", { class: nearness(regret.regret), "data-backend": policy },
    regretText(regret.regret), regret.regret > 0 && el("small", { "data-field": "where" }, regret.workload));
}

function worstRefusals({ policy, refusals }: Worst): HTMLElement {
  const some = refusals.refused_more > 0;
  return el("td", { "data-backend": policy },
    el("span", { "data-field": "refused_more" }, some ? refusedText(refusals.refused_more) : "none"),
    some && el("small", { "data-field": "where" }, refusals.workload));
}

/// Of workloads that are all held out, or all for training.
function matrix(lines: Lines, workloads: WorkloadCells[], kind: string, note: string): HTMLElement | null {
  if (workloads.length === 0) return null;
  const looks = looksOf(lines.backends);
  const worst = worstOf(workloads);
  const title = `${kind} workloads`;
  return el("section", { class: "matrix regrets", "data-matrix": kind },
    scrollBox(`Regret in the ${title}`,
      el("table", {},
        el("caption", {}, el("span", {}, el("b", {}, title), ` ${note}`)),
        el("thead", {}, el("tr", {},
          el("th", { scope: "col" }, "Workload"),
          ...worst.map(({ policy }) => {
            const look = looks.get(policy);
            return el("th", { scope: "col", "data-backend": policy,
              "data-kind": lines.backends.find(({ name }) => name === policy)?.kind },
              policy, look ? swatch(look) : null);
          }))),
        el("tbody", {}, ...workloads.map(({ id, name, cells }) =>
          el("tr", { "data-workload": name },
            el("th", { scope: "row" }, el("a", { href: `#${id}` }, name)),
            ...worst.map(({ policy }) => valueCell(policy, cells.find((cell) => cell.policy === policy)))))),
        el("tfoot", {},
          el("tr", { "data-worst": "regret" },
            el("th", { scope: "row" }, "worst P99.9"), ...worst.map(worstRegret)),
          el("tr", { "data-worst": "refusals" },
            el("th", { scope: "row" }, "most refused"), ...worst.map(worstRefusals))))));
}

export function regretSection(lines: Lines, workloads: WorkloadCells[]): HTMLElement {
  return el("section", { id: "regret", "aria-labelledby": "regret-title" },
    el("h2", { id: "regret-title" }, "Regret",
      el("span", { class: "meaning" }, "P99.9 of the sojourns above the least of all policies in the workload")),
    el("p", { class: "key" },
      "Policies are ordered by their worst case, the least on the left. ",
      el("span", { class: "winner" }, "\u25cf the least"), " P99.9 of the workload; \u25cb within 5 % of it; ",
      el("span", { class: "loser" }, "\u2717 refuses"),
      " so many more of the tasks than the policy that refuses fewest. A policy that ",
      "refuses tasks has fewer left to wait, so the two figures have to be read together."),
    matrix(lines, workloads.filter(({ heldOut }) => heldOut), "Held-out",
      "have parameters that were drawn at random, and that no policy was tuned by."),
    matrix(lines, workloads.filter(({ heldOut }) => !heldOut), "Training",
      "are those by which the policies were tuned: their figures are no evidence."));
}
