// What the charts of long runs and of programs hold, and the tables beside the latter, against the JSON.

import { cellsOf, figure } from "./rows.mjs";

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
