// What the page of an audit must satisfy, beside its JSON. Every check returns a list of problems, empty iff all is
// well, so that the same functions can be shown pages with planted faults.

import { hostile } from "./audit_fixture.mjs";
import { figure } from "./rows.mjs";

export const space = "\u00a0";

/// The page's rule for durations, written a second time on purpose, as that for figures is.
export function duration(ns) {
  const [unit, size] = ns >= 999.5e6 ? ["s", 1e9] : ns >= 999.5e3 ? ["ms", 1e6]
    : ns >= 999.5 ? ["\u00b5s", 1e3] : ["ns", 1];
  const value = ns / size, decimals = unit === "ns" || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return `${figure(value, decimals)}${space}${unit}`;
}

const last = (path) => path.slice(path.lastIndexOf("/") + 1);
const sourceOf = (site) => (site === null ? "" : site.line > 0 && site.file !== ""
  ? `${last(site.file)}:${site.line}` : last(site.file));
const settled = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done))));

/// What is left of an audit in one thread (an index; null: all) with one cause (null: all), told from the JSON alone.
export function leftOf({ stalls, slow_calls, threads }, thread, cause) {
  const calls = slow_calls.filter((call) => (thread === null || call[2] === thread) &&
    (cause === null || stalls[call[3]].cause_kind === cause));
  const rows = stalls.flatMap((stall, index) => {
    const own = calls.filter((call) => call[3] === index).map((call) => call[1]).sort((a, b) => a - b);
    if (cause !== null && stall.cause_kind !== cause) return [];
    if (thread === null) return [{ ...stall, index }];
    if (own.length === 0) return [];
    const rank = (percent) => own[Math.ceil((percent / 100) * own.length - 1e-9) - 1];
    const { name, thread: number } = threads[thread];
    return [{ ...stall, index, count: own.length, p50_ns: rank(50), p999_ns: rank(99.9), max_ns: own[own.length - 1],
      total_ns: own.reduce((sum, each) => sum + each, 0), thread: `${name} (${number})` }];
  });
  return { calls, rows: rows.sort((a, b) => b.total_ns - a.total_ns) };
}

/// Chooses a thread and a cause; null: all of them.
export async function choose(page, thread, cause) {
  await page.evaluate(([index, name]) => {
    const all = document.querySelector(".filters .all");
    if (!all) return;
    all.click();
    const select = document.querySelector("[data-thread-choice]");
    select.value = index === null ? "" : String(index);
    select.dispatchEvent(new Event("change", { bubbles: true }));
    for (const button of document.querySelectorAll("[data-cause]")) {
      if (name !== null && button.dataset.cause !== name) button.click();
    }
  }, [thread, cause]);
  await settled(page);
}

function wrongRows(rows, written) {
  const problems = [];
  const order = rows.map(({ index }) => index).join();
  const shown = written.map(({ index }) => index).join();
  if (order !== shown) problems.push(`rows ${shown}, and not ${order}`);
  for (const row of rows) {
    const texts = written.find(({ index }) => index === row.index)?.texts ?? {};
    const wanted = {
      operation: row.operation, cause: row.cause, count: figure(row.count, 0), p50_ns: duration(row.p50_ns),
      p999_ns: duration(row.p999_ns), max_ns: duration(row.max_ns), total_ns: duration(row.total_ns),
      thread: row.thread, source: sourceOf(row.site),
    };
    for (const [field, text] of Object.entries(wanted)) {
      const said = texts[field];
      if (said !== text) problems.push(`${row.index}/${field}: the page says ${said}, the JSON ${text}`);
    }
  }
  return problems;
}

function writtenRows(page) {
  return page.evaluate(() => [...document.querySelectorAll("[data-stall]")].map((row) => ({
    index: Number(row.dataset.stall),
    texts: { source: row.querySelector(".source").textContent, ...Object.fromEntries(
      [...row.querySelectorAll("[data-field]")].map((field) => [field.dataset.field, field.textContent])) },
  })));
}

/// Each choice of a cause, each of a thread, and one of both, leaves exactly the rows that the JSON has, in its order.
export async function wrongTable(page, audit) {
  const problems = [];
  const causes = [...new Set(audit.stalls.map((stall) => stall.cause_kind))];
  const choices = [[null, null], ...causes.map((cause) => [null, cause]),
    ...audit.threads.map((_, index) => [index, null]), [0, causes[0] ?? null]];
  for (const [thread, cause] of choices) {
    await choose(page, thread, cause);
    const { rows } = leftOf(audit, thread, cause);
    problems.push(...wrongRows(rows, await writtenRows(page)).map((each) => `thread ${thread}, ${cause}: ${each}`));
  }
  await choose(page, null, null);
  return problems;
}

/// A row opens to its whole stack, in order, with its own frame marked, and closes again.
export async function wrongStacks(page, audit) {
  const problems = [];
  for (const [index, { stack, site }] of audit.stalls.entries()) {
    const opener = page.locator(`[data-stall="${index}"] .opener`);
    await opener.press("Enter");
    const frames = await page.$$eval(`#stack-${index} li`, (all) => all.map((each) => [
      each.querySelector(".function").textContent, each.querySelector(".source").textContent,
      each.textContent.includes("inlined"), each.classList.contains("own")]));
    const wanted = stack.map((frame) => [frame.function,
      frame.file === "" ? frame.module : frame.line > 0 ? `${frame.file}:${frame.line}` : frame.file, frame.inlined,
      frame.function === site.function && frame.line === site.line]);
    if (JSON.stringify(frames) !== JSON.stringify(wanted)) {
      problems.push(`${index}: the page has ${JSON.stringify(frames)}, the JSON ${JSON.stringify(wanted)}`);
    }
    await opener.press("Enter");
    if (await page.$(`#stack-${index}`)) problems.push(`${index}: does not close`);
  }
  return problems;
}

/// The head says what ran, where the most time is lost and why, which causes could be told, and what is not here.
export async function wrongHead(page, audit) {
  const text = (await page.textContent(".mast")).replaceAll(space, " ");
  const [worst] = audit.stalls;
  const untold = audit.causes_missing.map(({ cause, why }) => `Not told: ${cause} \u2013 ${why}`);
  const said = [audit.command, audit.under, audit.machine, ...audit.notes, ...audit.causes_available,
    `${figure(audit.calls, 0)} calls`, ...untold];
  if (audit.dropped > 0) said.push(`${figure(audit.dropped, 0)} calls were dropped`);
  if (!audit.whole) said.push("The recording ends before the program did");
  if (worst?.site) said.push(`The most time is lost in ${worst.site.function}`, `at ${sourceOf(worst.site)}`,
    audit.timed
      ? `took ${duration(worst.total_ns)} together, ${duration(worst.max_ns)} at worst. The cause is ${worst.cause}.`
      : `spent ${duration(worst.total_ns)} together in page faults, system calls and waits for locks, ` +
        `${duration(worst.max_ns)} at worst. The main cause is ${worst.cause}.`);
  if (audit.exit_status > 0) said.push(`exit status ${audit.exit_status}`);
  if (!worst) said.push(`No stall was found: none of the ${figure(audit.calls, 0)} calls`);
  return said.filter((each) => !text.includes(each.replaceAll(space, " "))).map((each) => `not said: ${each}`);
}

/// A page of an audit that timed no call has no percentiles, no causes and terms that nothing on it can have, and says
/// what a time is of wherever it shows some.
export async function wrongCauses(page, audit) {
  const problems = [], told = "page faults, system calls and waits for locks";
  if (await page.locator("#curves").count() > 0) problems.push("there are percentiles");
  for (const place of [".mast", "#stalls", "#timeline", "#flame", "#glossary"]) {
    if (!(await page.textContent(place)).includes(told)) problems.push(`${place}: does not say what a time is of`);
  }
  const causes = await page.locator("#causes dt").allTextContents();
  if (causes.join() !== audit.causes_available.join()) problems.push(`the causes are ${causes}`);
  const terms = await page.locator("#glossary dt").allTextContents();
  if (terms.includes("undisturbed")) problems.push("a term is of no use here");
  return problems;
}

/// No name has become an element, or run, and each is there as text: in the head, the rows, a stack, lanes and flames.
export async function markup(page) {
  const opener = page.locator(".opener").first();
  await opener.press("Enter");
  await page.focus(".lanes");
  await page.keyboard.press("ArrowRight");
  const problems = await page.evaluate((name) => {
    const found = [];
    if (document.querySelector("img, [onerror]")) found.push("a name has become an element");
    if (document.title === "run") found.push("a name has run");
    for (const place of [".command", ".run", ".verdict", ".told", ".standing", "[data-stall] .function",
      "[data-field=operation]", "[data-field=cause]", "[data-field=thread]", ".stall-details", ".stack", ".lane-name",
      ".tip", "[data-thread-choice]", ".legend button", ".flame .d3-flame-graph-label", ".flame title"]) {
      const all = [...document.querySelectorAll(place)].map((each) => each.textContent);
      if (!all.some((text) => text.includes(name.slice(0, 8)))) found.push(`${place}: not told as text`);
    }
    return found;
  }, hostile);
  return problems;
}

/// At first there are 100 rows and 24 lanes, and the page says how many lanes are left; to open the row of a call shows
/// the other rows too.
export async function wrongCrowd(page, audit) {
  const problems = [], rows = () => page.locator("[data-stall]").count();
  const further = `${audit.threads.length - 24}${space}further threads`;
  if (await rows() !== 100) problems.push(`${await rows()} rows at first`);
  const { lanes } = JSON.parse(await page.getAttribute(".lanes", "data-plotted"));
  if (lanes.length !== 24) problems.push(`${lanes.length} lanes`);
  if (!(await page.textContent("#timeline .key")).includes(further)) problems.push(`not said: ${further}`);
  const far = audit.slow_calls.filter((call) => call[2] === lanes[0].thread).findIndex((call) => call[3] >= 100);
  await page.focus(".lanes");
  for (let i = 0; i <= far; i++) await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Enter");
  if (await page.locator("[data-stall].open").count() !== 1) problems.push("the row of a call does not open");
  if (await rows() !== audit.stalls.length) problems.push(`${await rows()} rows, and not ${audit.stalls.length}`);
  return problems;
}

/// The licences of the packages whose code is in the page require their text in every copy.
export function missingLicences(html) {
  const wanted = { "uPlot": "Leon Sorokin", "d3-flame-graph": "Apache License", "d3-selection": "Mike Bostock" };
  return Object.entries(wanted).filter(([, words]) => !html.slice(0, html.indexOf("-->")).includes(words))
    .map(([name]) => `the licence of ${name} is not in the page`);
}

const mostElements = 6000;

/// Slow calls are painted, and no elements: thousands of them would make every step of the page slow.
export async function tooManyElements(page) {
  const count = await page.evaluate(() => document.querySelectorAll("*").length);
  return count <= mostElements ? [] : [`${count} elements; there must be no more than ${mostElements}`];
}
