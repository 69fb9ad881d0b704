// The bar of an audit's page: the causes and the thread that everything below it shows.

import { counted } from "./audit_head";
import { causeMark, looksOfCauses } from "./audit_causes";
import { threadName, type Audit } from "./audited";
import type { AuditView, Shown } from "./audit_view";
import { toolbarOf } from "./controls";
import { el } from "./dom";
import { count } from "./format";

/// A button for each cause that a stall has. Turned off, it hides the stalls of this cause.
function causeButtons({ stalls }: Audit, view: AuditView): HTMLElement[] {
  return looksOfCauses(stalls.map((stall) => stall.cause_kind)).map((look) => {
    const calls = stalls.filter((stall) => stall.cause_kind === look.name).reduce((sum, each) => sum + each.count, 0);
    const button = el("button", { type: "button", "aria-pressed": "true", "data-cause": look.name,
      title: `Show or hide ${look.name}: ${counted(calls, "slow call")}`, click: () => view.toggleCause(look.name) },
      causeMark(look), look.name, el("small", {}, count(calls)));
    view.onChange(() => button.setAttribute("aria-pressed", String(!view.hiddenCauses.has(look.name))));
    return button;
  });
}

/// Threads with slow calls, those that lost the most time first; the others would leave nothing to see.
function threadChoice({ threads, slow_calls: calls }: Audit, view: AuditView): HTMLElement {
  const haveSlow = new Set(calls.map((call) => call.thread));
  const slow = threads.map((thread, index) => ({ thread, index })).filter(({ index }) => haveSlow.has(index))
    .sort((a, b) => b.thread.slow_ns - a.thread.slow_ns);
  const select = el("select", { "aria-label": "Thread shown", "data-thread-choice": true, change: () => {
    view.chooseThread(select.value === "" ? null : Number(select.value));
  } }, el("option", { value: "" }, `all ${counted(threads.length, "thread")}`),
  ...slow.map(({ thread, index }) => el("option", { value: index }, threadName(thread))));
  view.onChange(() => { select.value = view.thread === null ? "" : String(view.thread); });
  return el("label", { class: "scale-choice thread-choice" }, "Thread ", select);
}

export function auditBar(shown: Shown, places: [string, string][], save: HTMLElement): HTMLElement {
  const { audit, view } = shown;
  if (audit.stalls.length === 0) return toolbarOf(view, places, [save], null);
  const left = el("output", { class: "left" });
  const all = el("button", { type: "button", class: "all", click: () => view.showEverything() }, "Show all");
  const say = () => {
    const stalls = shown.stalls().length, every = audit.stalls.length;
    left.textContent = `${count(stalls)} of ${counted(every, "stall")} shown`;
    all.disabled = !view.isFiltered;
  };
  view.onChange(say);
  say();
  return toolbarOf(view, places, [save], el("div", { class: "filters" },
    threadChoice(audit, view),
    el("div", { class: "legend scroll", role: "group", "aria-label": "Causes shown", tabindex: 0 },
      ...causeButtons(audit, view)), left, all));
}
