// What a filled page must satisfy. Every check returns a list of problems, empty iff all is well, so that the same
// functions can be shown pages with planted faults.

const thinSpace = "\u202f";
const sizeLimit = 2_000_000;

/// The page's rule for figures, written a second time on purpose: a change of rule must be made twice.
function figure(value, decimals) {
  if (value === null) return "\u2014";
  const size = Math.abs(value);
  let [whole, fraction] = size.toFixed(size >= 1000 ? 0 : decimals).split(".");
  let grouped = "";
  while (whole.length > 3) {
    grouped = thinSpace + whole.slice(-3) + grouped;
    whole = whole.slice(0, -3);
  }
  const text = whole + grouped + (fraction ? `.${fraction}` : "");
  return value < 0 && /[1-9]/.test(text) ? `\u2212${text}` : text;
}

const ppm = (value) => (value !== null && value > 0 && value < 1 ? "<1" : figure(value, 0));

/// What a row of the JSON is, told from the row alone.
function kindOf(row) {
  if (row.unit !== "ns") return row.unit === "bytes" ? "bytes" : "rate";
  if (row.windows) return "drift";
  if (!row.curve) return "phase";
  return row.calls_per_sample === 1 ? "tail" : "body";
}

const isCurved = (row) => ["tail", "body"].includes(kindOf(row));
const isRanked = (row) => row.ranked !== false;

function cellOf(row) {
  return [row.suite, row.size, row.calls_per_sample, row.operation, row.order].filter((part) => part !== "").join("-")
    .split(" ").join("-");
}

/// The texts that one row of the JSON must appear as, by name of the field.
function expectedTexts(row) {
  const kind = kindOf(row);
  const decimals = ["rate", "tail", "drift"].includes(kind) ? 1 : 2;
  const time = (value) => figure(value, decimals);
  const range = (low, high) => `${time(low)}\u2013${time(high)}`;
  const counts = {
    page_faults: figure(row.page_faults, 0), page_faults_setup: figure(row.page_faults_setup, 0),
    resident_kib: figure(row.resident_kib, 0), samples: figure(row.samples, 0), processes: figure(row.processes, 0),
  };
  const median = { p50: time(row.p50), p50_interval: range(row.p50_low, row.p50_high) };
  if (kind === "drift") {
    const { first, last, worst, slope_ns_per_million } = row.windows;
    const course = { first: time(first), last: time(last), worst: time(worst) };
    return { ...median, ...course, slope_ns_per_million: figure(slope_ns_per_million, 3), ...counts };
  }
  if (!isCurved(row)) return { ...median, mean: time(row.mean), max: time(row.max), ...counts };
  const net = row.calls_per_sample === 1 ? { p50_net: time(row.p50_net) } : {};
  return {
    ...median, ...net, p90: time(row.p90), p99: time(row.p99), p999: time(row.p999),
    p999_interval: range(row.p999_low, row.p999_high), jitter: time(row.p999 - row.p50), p9999: time(row.p9999),
    over_100ns_ppm: ppm(row.over_100ns_ppm), over_1us_ppm: ppm(row.over_1us_ppm),
    over_10us_ppm: ppm(row.over_10us_ppm), max: figure(row.max, 0), ...counts,
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
      .filter((cell) => cell.textContent.includes("void: A and A differed by more than 5 %"))
      .map((cell) => cell.dataset.cell),
    text: document.body.textContent,
    orders: [...document.querySelectorAll("[data-cell]")].map((cell) =>
      [cell.dataset.cell, [...cell.querySelectorAll("tbody tr")].map((row) => row.dataset.backend)]),
  }));
  const problems = [];
  for (const id of voids) if (!seen.voids.includes(id)) problems.push(`${id}: void, and not labelled so`);
  for (const id of seen.voids) if (!voids.has(id)) problems.push(`${id}: labelled void, and is not`);
  for (const { name, how } of bench.missing) {
    if (!seen.text.includes(name) || !seen.text.includes(how)) problems.push(`${name}: missing, and not named`);
  }
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

/// The rows of the JSON by cell.
function cellsOf(bench) {
  const cells = new Map();
  for (const row of bench.cells) cells.set(cellOf(row), [...(cells.get(cellOf(row)) ?? []), row]);
  return cells;
}

const deciderOf = (row) => (kindOf(row) === "tail" ? "p999" : "p50");

/// The best of a cell's rows of these kinds.
function bestOf(bench, rows, kinds) {
  const names = bench.backends.filter(({ kind }) => kinds.includes(kind)).map(({ name }) => name);
  const direction = kindOf(rows[0]) === "rate" ? -1 : 1;
  const field = deciderOf(rows[0]);
  return rows.filter(({ backend }) => names.includes(backend))
    .sort((a, b) => direction * (a[field] - b[field]))[0]?.backend;
}

const words = { faster: "wins", slower: "loses", "no difference": "even", void: "void" };

/// "12–19 %": how far the interval of a ratio is from 1.
function percentText({ low, high }) {
  const away = [Math.abs(low - 1) * 100, Math.abs(high - 1) * 100].sort((a, b) => a - b);
  const texts = away.map((value) => figure(value, away[1] < 10 ? 1 : 0));
  return `${texts[0] === texts[1] ? texts[0] : texts.join("\u2013")}\u00a0%`;
}

function wordsOf(verdict, rows) {
  const [better, worse] = kindOf(rows[0]) === "bytes" ? ["less", "more"] : ["faster", "slower"];
  if (verdict.outcome === "faster") return `${better} by ${percentText(verdict)}`;
  if (verdict.outcome === "slower") return `${worse} by ${percentText(verdict)}`;
  const name = { tail: "P99.9", drift: "median window" }[kindOf(rows[0])] ?? "P50";
  return `no difference at this precision (${figure(verdict.low, 2)}\u2013${figure(verdict.high, 2)} of its ${name})`;
}

/// What the page says of who won: the winner of each table, the words on each cell, the ratios of the overview, the
/// summary in front.
function writtenVerdicts(page) {
  return page.evaluate(() => {
    const written = {};
    for (const cell of document.querySelectorAll("[data-cell]")) {
      const id = cell.dataset.cell;
      written[`${id}/winner`] = [...cell.querySelectorAll("tr.winner")].map((row) => row.dataset.backend).join(" ");
      const said = cell.querySelector("[data-verdict] .words");
      if (said) written[`${id}/words`] = said.textContent;
    }
    for (const each of document.querySelectorAll("[data-ratio]")) {
      const [ratio, word] = [...each.querySelectorAll("span")].map((span) => span.textContent);
      const interval = each.querySelector("small").textContent;
      written[`${each.dataset.ratio}/ratio ${each.dataset.against}`] = `${ratio} ${word} ${interval}`;
    }
    for (const each of document.querySelectorAll("[data-judged]")) {
      const by = each.querySelector(".by")?.textContent ?? "";
      written[`${each.dataset.judged}/summary`] = `${each.dataset.outcome}${by}`;
    }
    return written;
  });
}

function expectedVerdicts(bench, id, rows) {
  if (!isRanked(rows[0])) return { winner: "" };
  const isVoid = rows.some((row) => row.void);
  const expected = { winner: isVoid ? "" : bestOf(bench, rows, ["subject", "general", "fixed-pool"]) ?? "" };
  const verdicts = (bench.verdicts ?? []).filter((each) => cellOf(each) === id);
  const against = { any: ["general", "fixed-pool"], general: ["general"] };
  for (const [name, kinds] of Object.entries(against)) {
    const rival = bestOf(bench, rows, kinds);
    const verdict = verdicts.find((each) => each.rival === rival);
    if (!verdict) continue;
    const { ratio, low, high, outcome } = verdict;
    expected[`ratio ${name}`] =
      `${figure(ratio, 2)} ${words[outcome]} ${figure(low, 2)}\u2013${figure(high, 2)}`;
    if (name !== "any") continue;
    const by = outcome === "faster" || outcome === "slower" ? ` by ${percentText(verdict)}` : "";
    expected.summary = { faster: "win", slower: "loss", "no difference": "even", void: "void" }[outcome] + by;
    if (!isVoid) expected.words = wordsOf(verdict, rows);
  }
  return expected;
}

/// Who won each cell and by how much is what the JSON's verdicts say, wherever the page says it; nobody wins a cell that
/// is void or not ranked.
export async function wrongVerdicts(page, bench) {
  const written = await writtenVerdicts(page);
  const problems = [];
  for (const [id, rows] of cellsOf(bench)) {
    for (const [field, text] of Object.entries(expectedVerdicts(bench, id, rows))) {
      const key = `${id}/${field}`;
      if (written[key] !== text) problems.push(`${key}: the page says ${written[key]}, the JSON ${text}`);
      delete written[key];
    }
  }
  return [...problems, ...Object.keys(written).map((key) => `${key}: on the page and not in the JSON`)];
}

/// The texts that one program's row must appear as.
function programTexts(row) {
  const seconds = (value) => figure(value, 2);
  const mib = (value) => figure(value / 1024, 1);
  const whole = (value) => figure(value, 0);
  const scaled = (unit) => (value) => figure(value / unit, 2);
  const spread = (name, write) => row[name] === null ? { [name]: "\u2014" } : {
    [name]: write(row[name].median), [`${name}_range`]: `${write(row[name].low)}\u2013${write(row[name].high)}`,
  };
  return {
    ...spread("wall_s", seconds), ...spread("user_s", seconds), ...spread("system_s", seconds),
    ...spread("peak_rss_kib", mib), ...spread("final_rss_kib", mib), ...spread("page_faults", whole),
    ...spread("instructions", scaled(1e9)), system_calls: whole(row.system_calls),
    allocations: scaled(1e6)(row.allocations), frees: scaled(1e6)(row.frees),
    allocator_share: `${figure(row.allocator_share * 100, 1)}\u00a0%`, processes: whole(row.processes),
  };
}

/// What the page has of each program: figures, the order and the marks of its rows, its text, and what its chart holds.
function writtenPrograms(page) {
  return page.evaluate(() => [...document.querySelectorAll("[data-program]")].map((program) => {
    const rows = [...program.querySelectorAll("tr[data-backend]")];
    const plot = program.querySelector("[data-plotted]");
    return {
      name: program.dataset.program, text: program.textContent,
      plotted: plot ? JSON.parse(plot.dataset.plotted) : null,
      rows: rows.map((row) => ({
        backend: row.dataset.backend, marked: row.querySelector(".mark") !== null,
        figures: Object.fromEntries([...row.querySelectorAll("[data-field]")]
          .map((field) => [field.dataset.field, field.textContent])),
      })),
    };
  }));
}

function wrongProgramTable(program, written) {
  const problems = [];
  const seen = new Map(written.rows.map((row) => [row.backend, row]));
  for (const row of program.rows) {
    const { figures = {}, marked } = seen.get(row.backend) ?? {};
    for (const [field, text] of Object.entries(programTexts(row))) {
      if (figures[field] !== text) {
        problems.push(`${row.backend}/${field}: the page says ${figures[field]}, the JSON ${text}`);
      }
      delete figures[field];
    }
    for (const field of Object.keys(figures)) problems.push(`${row.backend}/${field}: on the page and not in the JSON`);
    if (marked !== row.frontier) problems.push(`${row.backend}: wrongly marked as to the frontier`);
    seen.delete(row.backend);
  }
  for (const backend of seen.keys()) problems.push(`${backend}: on the page and not in the JSON`);
  const wall = new Map(program.rows.map((row) => [row.backend, row.wall_s.median]));
  const walls = written.rows.map((row) => wall.get(row.backend));
  if (walls.some((value, i) => i > 0 && value < walls[i - 1])) problems.push("not sorted by wall time");
  return problems;
}

/// The values of one series of a chart that are there, as [x, y].
function pointsOf({ x, series }, label) {
  const found = series.find((each) => each.label === label);
  return (found?.y ?? []).flatMap((y, i) => (y === null ? [] : [[x[i], y]]));
}

/// Each mark is where the figures put it on even scales: all of them on one straight line from value to pixel.
function unevenMarks(marks) {
  const problems = [];
  for (const [value, pixel, direction] of [["x", "left", 1], ["y", "top", -1]]) {
    const sorted = [...marks].sort((a, b) => a[value] - b[value]);
    const [first, last] = [sorted[0], sorted[sorted.length - 1]];
    if (!first || first[value] === last[value]) continue;
    const scale = (last[pixel] - first[pixel]) / (last[value] - first[value]);
    if (scale * direction <= 0) problems.push(`the ${value} axis runs the wrong way`);
    for (const mark of sorted) {
      const off = mark[pixel] - first[pixel] - scale * (mark[value] - first[value]);
      if (Math.abs(off) > 1.5) problems.push(`${mark.backend}: its mark is ${off.toFixed(1)} px off in ${value}`);
    }
  }
  return problems;
}

function wrongMarks(program, plotted) {
  if (program.rows.length === 0) return plotted === null ? [] : ["a chart of nothing"];
  if (plotted === null) return ["no chart"];
  const problems = [];
  const expected = program.rows.map((row) => [row.backend, [[row.wall_s.median, row.peak_rss_kib.median / 1024]]]);
  expected.push(["frontier", program.rows.filter((row) => row.frontier)
    .map((row) => [row.wall_s.median, row.peak_rss_kib.median / 1024]).sort((a, b) => a[0] - b[0])]);
  for (const [label, points] of expected) {
    const drawn = JSON.stringify(pointsOf(plotted, label));
    if (drawn !== JSON.stringify(points)) {
      problems.push(`${label}: the chart has ${drawn}, the JSON ${JSON.stringify(points)}`);
    }
  }
  for (const { label } of plotted.series) {
    if (!expected.some(([name]) => name === label)) problems.push(`${label}: in the chart and not in the JSON`);
  }
  const marks = plotted.at.map((at) => {
    const [[x, y] = []] = pointsOf(plotted, at.backend);
    return { ...at, x, y };
  });
  return [...problems, ...unevenMarks(marks)];
}

function unsaid(program, text) {
  const wanted = [
    program.title, ...program.shortfalls, ...(program.missing === null ? [] : [program.missing]),
    ...program.errors.map(({ message }) => message), ...program.rows.flatMap(({ version, path }) => [version, path]),
  ];
  return wanted.filter((each) => !text.includes(each)).map((each) => `not said: ${each}`);
}

/// Every figure, mark and note of every program is the JSON's, in the table and in the chart.
export async function wrongPrograms(page, bench) {
  const written = new Map((await writtenPrograms(page)).map((each) => [each.name, each]));
  const problems = [];
  for (const program of bench.programs ?? []) {
    const found = written.get(program.name);
    written.delete(program.name);
    const here = found === undefined ? ["not on the page"] : [
      ...wrongProgramTable(program, found), ...wrongMarks(program, found.plotted), ...unsaid(program, found.text),
    ];
    problems.push(...here.map((problem) => `${program.name}: ${problem}`));
  }
  return [...problems, ...[...written.keys()].map((name) => `${name}: on the page and not in the JSON`)];
}

/// Every chart of a long run holds the JSON's windows, a line for each backend, against the operations done by then.
export async function wrongDrift(page, bench) {
  const charts = new Map(await page.evaluate(() => [...document.querySelectorAll("[data-cell] [data-plotted]")]
    .map((plot) => [plot.closest("[data-cell]").dataset.cell, JSON.parse(plot.dataset.plotted)])));
  const problems = [];
  for (const [id, rows] of cellsOf(bench)) {
    if (!rows.some((row) => row.windows)) continue;
    const plotted = charts.get(id);
    charts.delete(id);
    if (!plotted) problems.push(`${id}: no chart`);
    for (const row of plotted ? rows : []) {
      const { operations, values } = row.windows;
      const points = values.map((value, i) => [((i + 1) * operations) / 1e6, value]);
      if (JSON.stringify(pointsOf(plotted, row.backend)) !== JSON.stringify(points)) {
        problems.push(`${id}/${row.backend}: the line is not the JSON's windows`);
      }
    }
  }
  return [...problems, ...[...charts.keys()].map((id) => `${id}: a chart of what the JSON has not`)];
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
  const names = await page.evaluate(() => [...document.querySelectorAll("[data-toggle]")].map((each) => each.dataset.toggle));
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
