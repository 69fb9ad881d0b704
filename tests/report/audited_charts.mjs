// What the timeline, the percentile curves and the flame graph of an audit must satisfy, beside its JSON, as the checks
// of audited.mjs.

import { choose, duration, leftOf, space } from "./audited.mjs";
import { figure } from "./rows.mjs";

/// Of these places, those at which the timeline's canvas does not have the colour of a cause.
function elsewhere(page, places, cause) {
  return page.evaluate(([wanted, name]) => {
    const canvas = document.querySelector(".lanes canvas"), scale = canvas.width / canvas.getBoundingClientRect().width;
    const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", { willReadFrequently: true });
    copy.drawImage(canvas, 0, 0);
    const { data, width } = copy.getImageData(0, 0, canvas.width, canvas.height);
    const fill = getComputedStyle(document.querySelector(`[data-cause="${name}"] :is(circle, polygon)`)).fill;
    const colour = fill.match(/\d+/g).map(Number);
    return wanted.filter(([x, y]) => {
      const at = (Math.round(y * scale) * width + Math.round(x * scale)) * 4;
      return colour.some((part, i) => Math.abs(part - data[at + i]) > 40) || data[at + 3] < 200;
    });
  }, [places, cause]);
}

const floor = 78, reach = 58; // CSS pixels: from the top of a lane to its floor, and what durations reach over

/// Where the mark of a call stands in what is plotted.
function placeOf({ left, right, window: [from, to], low, high, lanes }, [at, length, thread]) {
  const { top } = lanes.find((lane) => lane.thread === thread);
  return [left + ((at - from) / (to - from)) * (right - left),
    top + floor - reach * (Math.log(length / low) / Math.log(high / low))];
}

/// For each cause alone: the lanes are the threads with such calls, the one with the most time first, each says how
/// many there are, and every call has a mark in its colour at its time, as high as its duration.
export async function wrongTimeline(page, audit) {
  const problems = [];
  for (const cause of new Set(audit.stalls.map((stall) => stall.cause_kind))) {
    await choose(page, null, cause);
    const plotted = JSON.parse(await page.getAttribute(".lanes", "data-plotted"));
    const { calls } = leftOf(audit, null, cause);
    const time = (thread) => calls.filter((call) => call[2] === thread).reduce((sum, call) => sum + call[1], 0);
    const threads = [...new Set(calls.map((call) => call[2]))].sort((a, b) => time(b) - time(a));
    const wanted = threads.map((thread) => [thread, calls.filter((call) => call[2] === thread).length]);
    const shown = plotted.lanes.map((each) => [each.thread, each.calls]);
    if (JSON.stringify(shown) !== JSON.stringify(wanted)) {
      problems.push(`${cause}: the lanes are ${JSON.stringify(shown)}, the JSON\u2019s ${JSON.stringify(wanted)}`);
      continue;
    }
    const places = calls.map((call) => placeOf(plotted, call));
    const missing = await elsewhere(page, places, cause);
    if (missing.length > 0) problems.push(`${cause}: ${missing.length} of ${places.length} calls have no mark of it`);
    const names = await page.$$eval(".lane-name", (all) => all.map((each) => each.textContent));
    for (const [i, [thread, count]] of wanted.entries()) {
      const { name, thread: number } = audit.threads[thread];
      const slow = `${figure(count, 0)}${space}slow call${count === 1 ? "" : "s"}`;
      const text = `${name} (${number}) ${slow}, ${duration(time(thread))}`;
      if (names[i] !== text) problems.push(`${cause}: lane ${i} is called ${names[i]}, and not ${text}`);
    }
  }
  await choose(page, null, null);
  return problems;
}

/// Whether a line that is drawn has this place between two of its points, on a log scale.
function liesOn(drawn, x, y) {
  return drawn.some(([right, above], i) => {
    const [left, below] = drawn[i - 1] ?? [right, above];
    if (x < left - 1e-9 || x > right + 1e-9) return false;
    const share = right > left ? (x - left) / (right - left) : 1;
    return Math.abs(Math.log(below) + share * Math.log(above / below) - Math.log(y)) < 1e-6;
  });
}

/// The chart of percentiles has the JSON's points, its table the figures, and every stall that is a call its mark, on
/// the line of its kind.
export async function wrongPercentiles(page, audit) {
  const curves = Object.entries({
    "allocating": audit.allocating.all, "allocating, undisturbed": audit.allocating.undisturbed,
    "freeing": audit.freeing.all, "freeing, undisturbed": audit.freeing.undisturbed, "floor": audit.floor,
  }).filter(([, { count }]) => count > 0);
  const problems = [];
  const { x, series, marks } = JSON.parse(await page.getAttribute("#curves .plot", "data-plotted"));
  for (const [name, curve] of curves) {
    const line = series.find(({ label }) => label === name)?.y ?? [];
    const drawn = line.flatMap((y, i) => (y === null ? [] : [[x[i], y]]));
    const right = drawn.length === curve.points.length && curve.points.every(([percent, ns], i) => {
      const at = percent < 100 ? -Math.log10(1 - percent / 100)
        : Math.max(Math.log10(curve.count), drawn[i - 1][0] + 0.05); // the last, whatever was before it
      return Math.abs(drawn[i][0] - at) < 1e-6 && drawn[i][1] === ns;
    });
    if (!right) problems.push(`${name}: the line is not the JSON\u2019s`);
    const texts = await page.$$eval(`[data-curve="${name}"] [data-field]`, (all) =>
      Object.fromEntries(all.map((each) => [each.dataset.field, each.textContent])));
    for (const field of ["count", "p50_ns", "p90_ns", "p99_ns", "p999_ns", "p9999_ns", "max_ns", "mean_ns"]) {
      const text = figure(curve[field], field === "count" ? 0 : 1);
      if (texts[field] !== text) problems.push(`${name}/${field}: the page says ${texts[field]}, the JSON ${text}`);
    }
  }
  if (series.length !== curves.length) problems.push(`${series.length} lines, and not ${curves.length}`);
  const wanted = audit.stalls.map(({ operation, max_ns: ns }, stall) => [stall, ns, operation])
    .filter(([, , operation]) => operation !== "first touch").map(([stall, ns]) => [stall, ns]);
  for (const { stall, x: at, y } of marks) {
    const { label, y: ns } = series.find((each) => each.label === (/free|delete/.test(audit.stalls[stall]?.operation)
      ? "freeing" : "allocating"));
    const drawn = ns.flatMap((value, i) => (value === null ? [] : [[x[i], value]]));
    if (!liesOn(drawn, at, y)) problems.push(`the mark of stall ${stall} is not on the line of ${label}`);
  }
  const marked = marks.map(({ stall, y }) => [stall, y]);
  if (JSON.stringify(marked) !== JSON.stringify(wanted)) {
    problems.push(`the marks are ${JSON.stringify(marked)}, the JSON\u2019s ${JSON.stringify(wanted)}`);
  }
  return problems;
}

/// The frames of the flame graph: name, depth from the bottom, and width in pixels, once their growing has ended.
async function flameFrames(page) {
  await page.waitForFunction(() => [...document.querySelectorAll(".flame rect")].every((each) =>
    Math.abs(each.getAttribute("width") - each.parentNode.getAttribute("width")) < 0.01));
  return page.$$eval(".flame svg g", (all) => {
    const tops = all.map((each) => Number(each.getAttribute("transform").match(/,([\d.-]+)\)/)[1]));
    const lowest = Math.max(...tops);
    return all.map((each, i) => [each.getAttribute("name"), Math.round((lowest - tops[i]) / 19),
      Number(each.querySelector("rect").getAttribute("width"))]);
  });
}

/// The width of a frame is its time, or the longest calls of the stacks through it, as a share of all.
function wantedFrames(root, measure) {
  const widthOf = (node) => {
    if (measure === "total") return node.value;
    const below = node.children.map(widthOf).reduce((sum, each) => sum + each, 0);
    return below + (node.worst > Math.max(0, ...node.children.map((child) => child.worst)) ? node.worst : 0);
  };
  const all = [];
  const visit = (node, depth) => {
    all.push([node.name, depth, widthOf(node)]);
    for (const child of node.children) visit(child, depth + 1);
  };
  visit(root, 0);
  return all;
}

const key = ([name, depth]) => `${name} (${depth})`;

/// By total time and by worst call, every frame that is wide enough to be seen is there, and as wide as the JSON says.
export async function wrongFlame(page, audit) {
  const problems = [];
  for (const measure of ["worst", "total"]) {
    await page.check(`[name="flame-measure"][value="${measure}"]`);
    const wanted = wantedFrames(audit.flame, measure), frames = await flameFrames(page);
    const [, , all] = wanted[0], width = await page.$eval(".flame", (each) => each.clientWidth);
    const sums = (rows, scale) => rows.reduce((sum, row) =>
      sum.set(key(row), (sum.get(key(row)) ?? 0) + row[2] * scale), new Map());
    const [drawn, told] = [sums(frames, 1), sums(wanted, width / all)];
    for (const [name, pixels] of told) {
      const seen = drawn.get(name) ?? 0;
      if (pixels > 2 && Math.abs(seen - pixels) > 1.5) {
        problems.push(`${measure}: ${name} is ${seen.toFixed(1)} px wide, and not ${pixels.toFixed(1)}`);
      }
      drawn.delete(name);
    }
    for (const name of drawn.keys()) problems.push(`${measure}: ${name} is not in the JSON`);
  }
  return problems;
}

/// Under a choice, the flame graph is of the slow calls that are left alone.
export async function wrongFilteredFlame(page, audit) {
  const [{ cause_kind: cause }] = audit.stalls, { rows } = leftOf(audit, null, cause);
  await choose(page, null, cause);
  const frames = await flameFrames(page), width = await page.$eval(".flame", (each) => each.clientWidth);
  await choose(page, null, null);
  const problems = [], total = rows.reduce((sum, row) => sum + row.total_ns, 0);
  for (const { operation, cause: words, stack, total_ns: ns } of rows) {
    const leaf = frames.find(([name, depth]) => name === `${operation}: ${words}` && depth === stack.length + 1);
    const share = (leaf?.[2] ?? 0) / width;
    const wanted = ns / total;
    if (Math.abs(share - wanted) > 0.01) problems.push(`${operation}: ${words} has ${share}, and not ${wanted}`);
  }
  const leaves = frames.filter(([name]) => audit.stalls.some((stall) => name === `${stall.operation}: ${stall.cause}`));
  if (leaves.length !== rows.length) problems.push(`${leaves.length} stacks, and not ${rows.length}`);
  return problems;
}

/// The search outlines the frames that hold the text, in any case, and says how many there are.
export async function wrongSearch(page, audit) {
  const term = "MIXER";
  await page.fill("[data-flame-search]", term);
  const found = await page.$$eval(".flame g[data-found]", (all) => all.map((each) => each.getAttribute("name")));
  const said = await page.textContent(".flame-said");
  await page.fill("[data-flame-search]", "");
  const wanted = wantedFrames(audit.flame, "total").map(([name]) => name).filter((name) => /mixer/i.test(name));
  const problems = [];
  if (found.join() !== wanted.join()) problems.push(`found ${found}, and not ${wanted}`);
  if (!said.startsWith(`Found: ${wanted.length} frame`)) problems.push(`says ${said}`);
  if (await page.$(".flame g[data-found]")) problems.push("the emptied search still finds");
  return problems;
}

/// By keyboard: the next call of the timeline is told and its row opened, the timeline zooms and comes back, and the
/// flame graph is walked.
export async function wrongKeys(page, audit) {
  const problems = [];
  const windowOf = async () => JSON.parse(await page.getAttribute(".lanes", "data-plotted")).window;
  await page.focus(".lanes");
  await page.keyboard.press("ArrowRight");
  const { lanes: [{ thread }] } = JSON.parse(await page.getAttribute(".lanes", "data-plotted"));
  const first = audit.slow_calls.find((call) => call[2] === thread), stall = audit.stalls[first[3]];
  const said = await page.textContent(".lanes .tip");
  for (const text of [`${stall.operation}: ${duration(first[1])}`, stall.cause, stall.site.function,
    audit.threads[thread].name, (first[0] / 1e9).toFixed(6)]) {
    if (!said.includes(text)) problems.push(`the first call is told as ${said}, without ${text}`);
  }
  const whole = await windowOf();
  await page.keyboard.press("+");
  const [from, to] = await windowOf();
  if (!(to - from <= (whole[1] - whole[0]) / 2 + 1)) problems.push("plus does not zoom");
  await page.keyboard.press("0");
  if (String(await windowOf()) !== String(whole)) problems.push("0 does not show the whole run");
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Enter");
  const open = await page.$$eval("[data-stall].open", (all) => all.map((each) => each.dataset.stall));
  if (open.join() !== String(first[3])) problems.push(`Enter opens ${open}, and not ${first[3]}`);
  for (const each of open) await page.click(`[data-stall="${each}"] .opener`);
  await page.focus(".flame");
  for (const key of ["ArrowUp", "ArrowUp"]) await page.keyboard.press(key);
  const widest = [...audit.flame.children].sort((a, b) => b.value - a.value)[0];
  const at = await page.textContent(".flame-said");
  if (!at.startsWith(`${widest.name}: ${duration(widest.value)} in all, ${duration(widest.worst)}`)) {
    problems.push(`the flame graph is at ${at}, and not at ${widest.name}`);
  }
  return problems;
}

/// By pointer: a mark is told where it stands, and a drag zooms to what it covers.
export async function wrongPointer(page, audit) {
  const problems = [], plotted = JSON.parse(await page.getAttribute(".lanes", "data-plotted"));
  await page.locator(".lanes").scrollIntoViewIfNeeded();
  const box = await page.locator(".lanes").boundingBox();
  const { left, right, window: [from, to] } = plotted;
  const longest = audit.slow_calls.reduce((one, other) => (other[1] > one[1] ? other : one));
  const [x, y] = placeOf(plotted, longest);
  await page.mouse.move(box.x + x, box.y + y);
  const said = await page.textContent(".lanes .tip");
  if (!said.includes(duration(longest[1]))) problems.push(`the longest call is told as ${said}`);
  await page.mouse.move(box.x + left + 100, box.y + 30);
  await page.mouse.down();
  await page.mouse.move(box.x + left + 200, box.y + 30, { steps: 4 });
  await page.mouse.up();
  const window = JSON.parse(await page.getAttribute(".lanes", "data-plotted")).window;
  const at = (pixels) => from + (pixels / (right - left)) * (to - from);
  if (Math.abs(window[0] - at(100)) > at(2) || Math.abs(window[1] - at(200)) > at(2)) {
    problems.push(`a drag shows ${window}, and not ${[at(100), at(200)]}`);
  }
  await page.locator(".lanes").dblclick({ position: { x: left + 5, y: 5 } });
  if (String(JSON.parse(await page.getAttribute(".lanes", "data-plotted")).window) !== String([from, to])) {
    problems.push("a double-click does not show the whole run");
  }
  return problems;
}
