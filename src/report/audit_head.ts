// The top of an audit's page: what ran, the first answer in words, and which causes could be told apart here.

import { placeInWords, toldParts, type Audit, type Stall } from "./audited";
import { adviceOn, causeMark, lookOfCause } from "./audit_causes";
import { el, type Child } from "./dom";
import { count, duration, figure, roundDuration } from "./format";

export const firstTouch = "first touch";

/// "1 call", "2 calls".
export function counted(number: number, one: string, several = `${one}s`): string {
  return `${count(number)}\u00a0${number === 1 ? one : several}`;
}

/// "37 slow calls of malloc"; a first touch is no call.
export function callsInWords({ operation, count: number }: Stall): string {
  return operation === firstTouch ? counted(number, "first touch of its blocks", "first touches of its blocks")
    : `${counted(number, "slow call")} of ${operation}`;
}

/// Of which calls an audit says "slow".
export function slowInWords({ over_ns: over, timed }: Audit): string {
  return timed ? `of ${roundDuration(over)} or more` : `with ${roundDuration(over)} or more of ${toldParts}`;
}

function runText(audit: Audit): string {
  const processes = new Set(audit.threads.map(({ process }) => process)).size;
  const where = processes > 1 ? ` of ${counted(processes, "process", "processes")}` : "";
  return [
    `${figure(audit.seconds, 1)}\u00a0s`,
    `${counted(audit.calls, "call")} in ${counted(audit.threads.length, "thread")}${where}`,
    `${count(audit.slow_count)} slow, ${slowInWords(audit)}`,
    ...((audit.exit_status ?? 0) > 0 ? [`exit status ${audit.exit_status}`] : []),
    ...(audit.under ? [`under ${audit.under}`] : []), ...(audit.machine ? [audit.machine] : []),
  ].join(" · ");
}

/// Where the time of a stall is lost, why, and what to do about it.
function stallInWords({ timed }: Audit, lead: string, stall: Stall, name: string): Child[] {
  const look = lookOfCause(stall.cause_kind);
  const took = timed ? "took" : "spent", within = timed ? "" : ` in ${toldParts}`;
  return [
    el("p", { class: name }, lead, el("b", { class: "name" }, placeInWords(stall.site)),
      `: ${callsInWords(stall)} ${took} ${duration(stall.total_ns)} together${within}, ${duration(stall.max_ns)} at ` +
      `worst. The ${timed ? "" : "main "}cause is `, el("b", { class: "cause" }, causeMark(look), stall.cause), "."),
    look.advice !== "" && el("p", { class: "others" }, ...adviceOn(look)),
  ];
}

/// The stall that took the longest in all; if that was another task's doing, also the first that was not.
function answer(audit: Audit): Child[] {
  const [worst] = audit.stalls;
  if (!worst) {
    const none = audit.calls === 0 ? "No call was recorded, so nothing can be said of them."
      : `No stall was found: none of the ${counted(audit.calls, "call")} ` + (audit.timed
        ? `took ${roundDuration(audit.over_ns)} or more.` : `had ${roundDuration(audit.over_ns)} or more of ${toldParts}.`);
    return [el("p", { class: "verdict" }, none)];
  }
  const others = (stall: Stall) => stall.cause_kind === "preempted";
  const own = others(worst) && audit.stalls.find((stall) => !others(stall));
  return [
    ...stallInWords(audit, "The most time is lost in ", worst, "verdict"),
    ...(own ? stallInWords(audit, "Apart from other tasks, the most time is lost in ", own, "verdict next") : []),
  ];
}

/// What the reader must know of the recording before trusting it.
function doubts(audit: Audit): Child[] {
  const texts = [
    audit.dropped > 0 && `${counted(audit.dropped, "call was", "calls were")} dropped because a buffer was full: ` +
      "they are counted here and in nothing else on this page.",
    !audit.whole && "The recording ends before the program did: what came later is not on this page.",
  ].filter((text): text is string => text !== false);
  return texts.map((text) => el("p", { class: "standing loss" }, text));
}

function causesTold({ causes_available: told, causes_missing: missing }: Audit): HTMLElement {
  const markOf = (name: string) => causeMark(lookOfCause(name === firstTouch ? "page fault" : name));
  const known = told.flatMap((name): Child[] => [el("span", { class: "cause" }, markOf(name), name), " "]);
  return el("div", { class: "told" },
    el("p", {}, el("b", {}, told.length > 0 ? "Causes told apart on this machine: "
      : "No cause could be told on this machine."), ...known),
    ...missing.map(({ cause, why }) => el("p", { class: "untold" },
      el("b", {}, "Not told: "), el("span", { class: "cause" }, markOf(cause), cause), ` \u2013 ${why}`)));
}

export function auditHead(audit: Audit): HTMLElement {
  return el("header", { class: "mast" },
    el("h1", {}, "flatline audit"),
    el("p", { class: "run" }, el("code", { class: "command" }, audit.command)),
    el("p", { class: "run" }, runText(audit)),
    ...answer(audit),
    ...doubts(audit),
    causesTold(audit),
    audit.notes.length > 0 && el("details", { class: "standing", open: true },
      el("summary", {}, "What else to know of this audit"),
      ...audit.notes.map((text) => el("p", {}, text))));
}
