// What a filled page must satisfy. Every check returns a list of problems, empty iff all is well, so that the same
// functions can be shown pages with planted faults.

import { cellOf, figure, isCurved, isRanked, kindOf } from "./rows.mjs";

const sizeLimit = 2_000_000;

const ppm = (value) => (value !== null && value > 0 && value < 1 ? "<1" : figure(value, 0));

/// What the processor counted, of the cells in which the fixture says that it did.
function counted(row) {
  const names = ["instructions_per_operation", "branch_misses_per_operation", "cache_misses_per_operation",
    "tlb_misses_per_operation"].filter((name) => typeof row[name] === "number");
  return Object.fromEntries(names.map((name) => [name, figure(row[name], 3)]));
}

/// The counts of tasks but the one that every cell has, as the median over the processes.
function countTexts(row) {
  const names = Object.keys(row.counts ?? {}).filter((name) => name !== "counters apart");
  const middle = (values) => (values[1] + values[2]) / 2; // of four, in ascending order
  return Object.fromEntries(names.map((name) =>
    [`count ${name}`, figure(middle([...row.counts[name]].sort((a, b) => a - b)), 0)]));
}

/// The texts that one row of the JSON must appear as, by name of the field.
function expectedTexts(row) {
  const kind = kindOf(row);
  const decimals = ["rate", "tail", "drift", "round"].includes(kind) ? 1 : 2;
  const time = (value) => figure(value, decimals);
  const range = (low, high) => `${time(low)}\u2013${time(high)}`;
  const counts = {
    ...(typeof row.peak_bytes === "number" ? { peak_bytes: figure(row.peak_bytes / 1024, 0) } : {}),
    page_faults: figure(row.page_faults, 0), page_faults_setup: figure(row.page_faults_setup, 0),
    ...countTexts(row), ...counted(row), resident_kib: figure(row.resident_kib, 0), samples: figure(row.samples, 0), processes: figure(row.processes, 0),
  };
  const median = { p50: time(row.p50), p50_interval: range(row.p50_low, row.p50_high) };
  if (kind === "drift") {
    const { first, last, worst, slope_ns_per_million } = row.windows;
    const course = { first: time(first), last: time(last), worst: time(worst) };
    return { ...median, ...course, slope_ns_per_million: figure(slope_ns_per_million, 3), ...counts };
  }
  if (!isCurved(row)) return { ...median, mean: time(row.mean), max: time(row.max), ...counts };
  const net = kind === "tail" ? { p50_net: time(row.p50_net) } : {};
  const beside = kind === "round"
    ? { heap_calls: figure(row.heap_calls, 0), held_bytes: figure(row.held_bytes, 0) }
    : { over_100ns_ppm: ppm(row.over_100ns_ppm), over_1us_ppm: ppm(row.over_1us_ppm),
      over_10us_ppm: ppm(row.over_10us_ppm) };
  return {
    ...median, ...net, ...beside, p90: time(row.p90), p99: time(row.p99), p999: time(row.p999),
    p999_interval: range(row.p999_low, row.p999_high), jitter: time(row.p999 - row.p50), p9999: time(row.p9999),
    max: figure(row.max, 0), ...counts,
  };
}

/// The overview has the figure that decides, of what is ranked.
function overviewTexts(row) {
  if (!isRanked(row)) return {};
  const texts = expectedTexts(row);
  return { overview: kindOf(row) === "tail" ? texts.p999 : texts.p50 };
}

/// What the page says: `cell/backend/field` -> text, of the tables and (field "overview") of the overview.
function writtenFigures(page) {
  return page.evaluate(() => {
    const written = {};
    for (const cell of document.querySelectorAll("[data-cell]")) {
      for (const row of cell.querySelectorAll("tr[data-backend]")) {
        for (const field of row.querySelectorAll("[data-field]")) {
          written[`${cell.dataset.cell}/${row.dataset.backend}/${field.dataset.field}`] = field.textContent;
        }
      }
    }
    for (const each of document.querySelectorAll("[data-figure]")) {
      written[`${each.dataset.figure}/${each.closest("td").dataset.backend}/overview`] = each.textContent;
    }
    return written;
  });
}

/// Every figure of every cell and backend equals the JSON's, and the page has none that the JSON has not.
export async function wrongFigures(page, bench) {
  const written = await writtenFigures(page);
  const problems = [];
  for (const row of bench.cells) {
    const expected = { ...expectedTexts(row), ...overviewTexts(row) };
    for (const [field, text] of Object.entries(expected)) {
      const key = `${cellOf(row)}/${row.backend}/${field}`;
      if (written[key] !== text) problems.push(`${key}: the page says ${written[key]}, the JSON ${text}`);
      delete written[key];
    }
  }
  return [...problems, ...Object.keys(written).map((key) => `${key}: on the page and not in the JSON`)];
}

/// Void cells say so, others do not; missing backends are named with the way to get them; the table is sorted.
export async function wrongLabels(page, bench) {
  const voids = new Set(bench.cells.filter((row) => row.void).map(cellOf));
  const seen = await page.evaluate(() => ({
    voids: [...document.querySelectorAll("[data-cell]")]
      .filter((cell) => cell.textContent.includes("void: the A/A copies differed by more than 5 %"))
      .map((cell) => cell.dataset.cell),
    text: document.body.textContent,
    sharing: [...document.querySelectorAll("td")].map((cell) => cell.textContent)
      .filter((text) => text.includes("in pages that its processes share")),
    orders: [...document.querySelectorAll("[data-cell]")].map((cell) =>
      [cell.dataset.cell, [...cell.querySelectorAll(".figures tbody tr")].map((row) => row.dataset.backend)]),
  }));
  const problems = [];
  for (const id of voids) if (!seen.voids.includes(id)) problems.push(`${id}: void, and not labelled so`);
  for (const id of seen.voids) if (!voids.has(id)) problems.push(`${id}: labelled void, and is not`);
  for (const { name, how } of bench.missing) {
    if (!seen.text.includes(name) || !seen.text.includes(how)) problems.push(`${name}: missing, and not named`);
  }
  const sharing = bench.environment.allocators.filter(({ own_code }) => own_code === false);
  const told = sharing.filter(({ path }) => seen.sharing.includes(`${path}, in pages that its processes share`));
  if (told.length < sharing.length || seen.sharing.length !== sharing.length)
    problems.push(`allocators: not ${sharing.length} of them are said to share pages`);
  for (const { backend, message } of bench.errors ?? []) {
    const named = seen.text.includes(backend) && seen.text.includes(message);
    if (!named) problems.push(`${backend}: failed, and not named`);
  }
  const median = new Map(bench.cells.map((row) => [`${cellOf(row)}/${row.backend}`, row.p50]));
  const rates = new Set(bench.cells.filter((row) => kindOf(row) === "rate").map(cellOf));
  for (const [id, order] of seen.orders) {
    const direction = rates.has(id) ? -1 : 1;
    const values = order.map((backend) => direction * median.get(`${id}/${backend}`));
    if (values.some((value, i) => i > 0 && value < values[i - 1])) problems.push(`${id}: not sorted by P50`);
  }
  return problems;
}

/// In each curve's drawing area, the pixels of one colour: how many, and how much of the width they span.
function colouredPixels(page, colour) {
  return page.evaluate((wanted) => {
    const [red, green, blue] = wanted.match(/\d+/g).map(Number);
    const copy = new OffscreenCanvas(1, 1);
    const context = copy.getContext("2d", { willReadFrequently: true });
    const found = {};
    for (const cell of document.querySelectorAll("[data-cell]")) {
      const canvas = cell.querySelector("canvas");
      if (!canvas) continue;
      const outer = canvas.getBoundingClientRect();
      const inner = cell.querySelector(".u-over").getBoundingClientRect();
      const scale = canvas.width / outer.width;
      copy.width = Math.floor(inner.width * scale);
      copy.height = Math.floor(inner.height * scale);
      context.drawImage(canvas, (outer.left - inner.left) * scale, (outer.top - inner.top) * scale);
      const { data, width } = context.getImageData(0, 0, copy.width, copy.height);
      let pixels = 0, first = width, last = 0;
      for (let i = 0; i < data.length; i += 4) {
        const far = Math.abs(data[i] - red) + Math.abs(data[i + 1] - green) + Math.abs(data[i + 2] - blue);
        if (data[i + 3] < 128 || far > 60) continue;
        const x = (i / 4) % width;
        pixels++;
        first = Math.min(first, x);
        last = Math.max(last, x);
      }
      found[cell.dataset.cell] = { pixels, span: Math.max(0, last - first) / width };
    }
    return found;
  }, colour);
}

/// Around each mark of this backend, where the chart says that it is, the pixels of one colour; by program.
function pixelsOfMarks(page, backend, colour) {
  return page.evaluate(([which, wanted]) => {
    const [red, green, blue] = wanted.match(/\d+/g).map(Number);
    const found = {};
    for (const program of document.querySelectorAll("[data-program]")) {
      const plot = program.querySelector("[data-plotted]");
      const at = plot && JSON.parse(plot.dataset.plotted).at.find((each) => each.backend === which);
      if (!at) continue;
      const canvas = plot.querySelector("canvas");
      const outer = canvas.getBoundingClientRect(), inner = plot.querySelector(".u-over").getBoundingClientRect();
      const scale = canvas.width / outer.width, reach = 8 * scale;
      const copy = new OffscreenCanvas(2 * reach, 2 * reach);
      const context = copy.getContext("2d", { willReadFrequently: true });
      const [left, top] = [(inner.left - outer.left) * scale + at.left, (inner.top - outer.top) * scale + at.top];
      context.drawImage(canvas, reach - left, reach - top);
      const { data } = context.getImageData(0, 0, copy.width, copy.height);
      let pixels = 0;
      for (let i = 0; i < data.length; i += 4) {
        const far = Math.abs(data[i] - red) + Math.abs(data[i + 1] - green) + Math.abs(data[i + 2] - blue);
        if (data[i + 3] >= 128 && far <= 60) pixels++;
      }
      found[program.dataset.program] = pixels;
    }
    return found;
  }, [backend, colour]);
}

/// Shows each backend alone, by the legend, and looks for its line in every cell that has a curve or a course, and for
/// its mark in every program.
export async function missingDrawings(page, bench) {
  const problems = [];
  const names = await page.$$eval("[data-toggle]", (all) => all.map((each) => each.dataset.toggle));
  const press = (which) => page.evaluate((all) => {
    for (const name of all) document.querySelector(`[data-toggle=${JSON.stringify(name)}]`).click();
  }, which);
  await press(names);
  let shown = [];
  for (const name of names) {
    await press([...shown, name]);
    shown = [name];
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    const colour = await page.evaluate((which) =>
      getComputedStyle(document.querySelector(`[data-toggle=${JSON.stringify(which)}] line`)).stroke, name);
    const lines = await colouredPixels(page, colour);
    const isDrawn = (row) => isCurved(row) || kindOf(row) === "drift";
    for (const row of bench.cells.filter((each) => each.backend === name && isDrawn(each))) {
      const line = lines[cellOf(row)];
      if (!line) problems.push(`${cellOf(row)}: no canvas`);
      else if (line.pixels < 30 || line.span < 0.5) problems.push(`${cellOf(row)}/${name}: no line`);
    }
    const marks = await pixelsOfMarks(page, name, colour);
    for (const program of bench.programs ?? []) {
      const isThere = program.rows.some((row) => row.backend === name);
      if (isThere && !(marks[program.name] >= 20)) problems.push(`${program.name}/${name}: no mark`);
    }
  }
  await page.evaluate(() => document.querySelector(".legend .all").click());
  return problems;
}

/// Nothing is wider than the window or cut off, except inside a box that scrolls sideways by itself.
export function clippedElements(page) {
  return page.evaluate(() => {
    const problems = [];
    const root = document.documentElement;
    if (root.scrollWidth > root.clientWidth) {
      problems.push(`the page is ${root.scrollWidth} px wide in a window of ${root.clientWidth} px`);
    }
    const name = (element) => `${element.tagName.toLowerCase()}.${element.getAttribute("class") ?? ""} ` +
      `"${element.textContent.trim().slice(0, 40)}"`;
    const scrolls = (style) => /auto|scroll/.test(style.overflowX);
    const inScrollBox = (element) => {
      for (let box = element.parentElement; box; box = box.parentElement) {
        if (scrolls(getComputedStyle(box))) return true;
      }
      return false;
    };
    for (const element of document.querySelectorAll("body *")) {
      if (element.closest("svg, script, option") || !element.checkVisibility()) continue;
      const rect = element.getBoundingClientRect();
      if (rect.width === 0 || rect.height === 0) continue;
      const style = getComputedStyle(element);
      const free = !inScrollBox(element);
      if (free && (rect.right > root.clientWidth + 1 || rect.left < -1)) problems.push(`outside: ${name(element)}`);
      if (/hidden|clip/.test(style.overflowX) && element.scrollWidth > element.clientWidth + 1) {
        problems.push(`cut at its side: ${name(element)}`);
      }
      if (style.overflowY !== "visible" && element.scrollHeight > element.clientHeight + 1) {
        problems.push(`cut below: ${name(element)}`);
      }
      if (style.display.startsWith("inline")) continue;
      for (const node of element.childNodes) {
        if (node.nodeType !== Node.TEXT_NODE || !node.textContent.trim()) continue;
        const range = document.createRange();
        range.selectNodeContents(node);
        const text = range.getBoundingClientRect();
        if (text.right > rect.right + 1 || text.left < rect.left - 1) problems.push(`spills: ${name(element)}`);
      }
    }
    return problems;
  });
}

/// Text has a contrast of at least 4.5 with what lies behind it, and a line of the legend 3 with the paper.
export function poorContrast(page) {
  return page.evaluate(() => {
    const parse = (text) => text.match(/[\d.]+/g).map(Number);
    const luminance = ([red, green, blue]) => {
      const linear = (part) => (part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4);
      return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
    };
    const contrast = (one, other) => {
      const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
      return (high + 0.05) / (low + 0.05);
    };
    const behind = (element) => {
      for (let box = element; box; box = box.parentElement) {
        const colour = parse(getComputedStyle(box).backgroundColor);
        if (colour.length === 3 || colour[3] > 0) return colour;
      }
      return [255, 255, 255];
    };
    const problems = new Set();
    for (const element of document.querySelectorAll("body *")) {
      if (element.closest("svg, script, option, .uplot") || !element.checkVisibility()) continue;
      const texts = [...element.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE);
      if (!texts.some((node) => node.textContent.trim())) continue;
      const ratio = contrast(parse(getComputedStyle(element).color), behind(element));
      if (ratio < 4.5) problems.add(`${element.tagName}.${element.className}: contrast ${ratio.toFixed(2)}`);
    }
    for (const line of document.querySelectorAll(".legend line")) {
      const ratio = contrast(parse(getComputedStyle(line).stroke), behind(line.closest("button")));
      const name = line.closest("button").textContent;
      if (ratio < 3) problems.add(`line of ${name}: contrast ${ratio.toFixed(2)}`);
    }
    return [...problems];
  });
}

export function oversize(html) {
  const size = Buffer.byteLength(html);
  return size < sizeLimit ? [] : [`the page has ${size} bytes; it must stay under ${sizeLimit}`];
}
