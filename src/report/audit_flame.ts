// The flame graph of an audit, drawn by d3-flame-graph, which sets names as text and never as HTML.

import flamegraph, { type FlameChart, type FlameNode } from "d3-flame-graph";
import { select } from "d3-selection";
import { flameOf, treeOfStalls, type Flame, type Measure } from "./audit_stacks";
import { toldParts } from "./audited";
import type { Shown } from "./audit_view";
import { drawnSoon, type Drawable } from "./chart";
import { el } from "./dom";
import { duration, percent } from "./format";

type Node = FlameNode<Flame>;

const cellHeight = 19, leastFrame = 0.7; // CSS pixels

const keys = "Up and down arrow: to the callee and the caller. Left and right arrow: to the frame beside. " +
  "Enter: zoom. Escape: the whole graph.";

/// Warm, and light enough for dark text in both themes; the same name has the same colour everywhere.
function colourOf(name: string): string {
  let hash = 0;
  for (let i = 0; i < name.length; i++) hash = (hash * 31 + name.charCodeAt(i)) % 9973;
  return `hsl(${18 + (hash % 38)} ${62 + (hash % 5) * 5}% ${66 + (hash % 7) * 2}%)`;
}

export class FlameSection implements Drawable {
  readonly element: HTMLElement;
  private readonly holder: HTMLElement;
  private readonly note = el("p", { class: "key" });
  private readonly said = el("output", { class: "readout" });
  private readonly field = el("input", { type: "search", "data-flame-search": true, placeholder: "part of a name",
    input: () => this.search() });
  private measure: Measure = "total";
  private chart: FlameChart<Flame> | undefined;
  private current: Node | null = null;
  private found = ""; // what the search found, in words
  private width = 0;

  constructor(private readonly shown: Shown) {
    const { timed } = shown.audit;
    this.holder = el("div", { class: "flame", tabindex: 0, role: "application", "aria-roledescription": "flame graph",
      "aria-label": `Flame graph. ${keys}`, keydown: (event) => this.onKey(event as KeyboardEvent),
      blur: () => this.goTo(null) });
    const choice = (measure: Measure, text: string) => {
      const chosen = () => {
        this.measure = measure;
        this.draw();
      };
      const attributes = { type: "radio", name: "flame-measure", value: measure, checked: measure === this.measure };
      return el("label", {}, el("input", { ...attributes, change: chosen }), text);
    };
    this.element = el("section", { id: "flame", "aria-labelledby": "flame-title" },
      el("h2", { id: "flame-title" }, "Flame graph",
        el("span", { class: "meaning" }, `time ${timed ? "" : `of ${toldParts} `}in the allocator by stack, the ` +
          "outermost function at the bottom")),
      el("div", { class: "beside flame-choices" },
        el("fieldset", { class: "choice" }, el("legend", {}, "Width"), choice("total", "by total time"),
          choice("worst", "by worst call")),
        el("label", { class: "scale-choice" }, "Search ", this.field),
        el("button", { type: "button", click: () => this.chart?.resetZoom() }, "Whole graph")),
      this.note, this.holder, el("p", { class: "flame-said" }, this.said));
    shown.view.onChange(drawnSoon(() => this.draw()));
    new ResizeObserver(() => {
      if (this.width !== 0 && this.holder.clientWidth !== this.width) this.draw();
    }).observe(this.holder);
  }

  draw(): void {
    this.width = this.holder.clientWidth;
    if (this.width === 0) return;
    const { audit, view } = this.shown;
    const tree = view.isFiltered ? treeOfStalls(this.shown.stalls()) : audit.flame;
    const flame = flameOf(tree, this.measure);
    this.current = null;
    this.found = this.said.textContent = "";
    this.holder.replaceChildren();
    this.holder.dataset["measure"] = this.measure;
    const of = view.isFiltered ? "the slow calls that are shown"
      : audit.timed ? "all calls, slow or not" : `all calls with ${toldParts}, slow or not`;
    this.note.textContent = flame.value === 0 ? "There is no time to show."
      : this.measure === "total"
        ? `Of ${of}: ${duration(flame.total)} in all. A frame is as wide as its calls took together.`
      : `Of ${of}: the longest took ${duration(flame.worst)}. A frame is as wide as the longest single calls of the ` +
        "stacks through it: a rare stall shows as much as a frequent one.";
    this.chart = undefined;
    if (flame.value === 0) return;
    this.chart = this.newChart();
    select<Flame>(this.holder).datum(flame).call(this.chart);
    this.search();
  }

  private newChart(): FlameChart<Flame> {
    return flamegraph<Flame>().width(this.width).cellHeight(cellHeight).minFrameSize(leastFrame).transitionDuration(0)
      .sort((a, b) => b.data.value - a.data.value)
      .setLabelHandler((node) => this.words(node))
      .setColorMapper((node) => (node.highlight ? "var(--flame-found)" : colourOf(node.data.name)))
      .setDetailsHandler((text) => { this.said.textContent = text ?? this.found; })
      .setSearchMatch((node, term) => node.data.name.toLowerCase().includes(term.toLowerCase()))
      .setSearchHandler((nodes, sum, total) => {
        const frames = nodes.length === 1 ? "1 frame" : `${nodes.length} frames`;
        this.found = nodes.length === 0 ? "Nothing is found."
          : `Found: ${frames}, ${percent(sum / total)} of the width.`;
        this.said.textContent = this.found;
      })
      .onClick(() => this.mark());
  }

  private words({ data }: Node): string {
    return `${data.name}: ${duration(data.total)} in all, ${duration(data.worst)} at worst`;
  }

  private search(): void {
    const term = this.field.value.trim();
    this.found = "";
    if (term === "") this.chart?.clear();
    else this.chart?.search(term);
    this.mark();
  }

  /// Outlines the frames that were found, and the one that the keyboard is at: colour alone would not tell.
  private mark(): void {
    select(this.holder).selectAll<Node>("g")
      .attr("data-found", (node) => (node.highlight ? "true" : null))
      .attr("data-current", (node) => (node === this.current ? "true" : null));
  }

  private root(): Node | undefined {
    return this.chart && select<Node>(this.holder).datum();
  }

  private goTo(node: Node | null): void {
    this.current = node;
    this.said.textContent = node ? this.words(node) : this.found;
    this.mark();
  }

  private onKey(event: KeyboardEvent): void {
    const root = this.root(), { current } = this;
    if (!root || event.ctrlKey || event.altKey || event.metaKey) return;
    const seen = (nodes: Node[] | undefined) =>
      (nodes ?? []).filter((node) => (node.x1 - node.x0) * this.width > leastFrame);
    const beside = (step: number): Node | null => {
      const siblings = seen(current?.parent?.children);
      return (current && siblings[siblings.indexOf(current) + step]) ?? current;
    };
    const actions: Record<string, () => void> = {
      ArrowUp: () => this.goTo(current ? seen(current.children)[0] ?? current : root),
      ArrowDown: () => this.goTo(current?.parent ?? root),
      ArrowLeft: () => this.goTo(beside(-1) ?? root), ArrowRight: () => this.goTo(beside(1) ?? root),
      Enter: () => { if (current) this.chart?.zoomTo(current); },
      Escape: () => this.chart?.resetZoom(),
    };
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  }
}
