// The timeline of an audit: every slow call that is shown, at its time, in the lane of its thread.

import { lookOfCause, traceShape, type CauseLook } from "./audit_causes";
import { placeInWords, threadName, toldParts, type SlowCall } from "./audited";
import { counted } from "./audit_head";
import { Layout, lanesOf, type Lane, type Window } from "./audit_lanes";
import { shortened } from "./audit_stalls";
import type { Shown } from "./audit_view";
import { drawnSoon, type Drawable } from "./chart";
import { el } from "./dom";
import { count, duration } from "./format";
import { themeColour } from "./palette";

const usualRadius = 4, smallRadius = 3; // CSS pixels: of a mark, and of one of many
const crowd = 2000;                     // marks of a cause from which on they are small
const reach = 14, leastDrag = 6;        // CSS pixels: of the pointer around a mark; from which on a drag is one
const longestName = 15;                 // characters of a thread's name over its lane: as many as Linux keeps
const leastSpan = 1000;                 // ns that can still be told apart
const zoomStep = 2, panStep = 0.25;

const keys = "Left and right arrow: previous and next call. Up and down arrow: the thread above and below. " +
  "Plus and minus: zoom. 0: the whole run. Enter: open the row of the call.";

export class Timeline implements Drawable {
  readonly element: HTMLElement;
  private readonly canvas = el("canvas", { "aria-hidden": "true" });
  private readonly names = el("div", { class: "lane-names" });
  private readonly ring = el("div", { class: "ring", hidden: true });
  private readonly band = el("div", { class: "band", hidden: true });
  private readonly tip = el("output", { class: "tip", hidden: true });
  private readonly holder: HTMLElement;
  private readonly note = el("p", { class: "key" });
  private readonly where = el("output", { class: "where" });
  private readonly whole: Window;
  private readonly low: number;
  private readonly high: number;
  private window: Window;
  private layout: Layout | undefined;
  private current: { lane: Lane; call: SlowCall } | null = null;
  private dragFrom: number | null = null; // CSS pixels

  /// `open` goes to the row of a stall.
  constructor(private readonly shown: Shown, private readonly open: (stall: number) => void) {
    const { audit, view } = shown;
    const ends = audit.slow_calls.map((call) => call.at_ns + call.duration_ns);
    this.whole = [0, Math.max(audit.seconds * 1e9, ends.reduce((one, other) => Math.max(one, other), leastSpan))];
    this.window = this.whole;
    const durations = audit.slow_calls.map((call) => call.duration_ns);
    const decade = (value: number, round: (exponent: number) => number) => 10 ** round(Math.log10(Math.max(1, value)));
    this.low = decade(durations.reduce((one, other) => Math.min(one, other), audit.over_ns || 1), Math.floor);
    this.high = Math.max(this.low * 10, decade(durations.reduce((one, other) => Math.max(one, other), 1), Math.ceil));
    this.holder = el("div", { class: "lanes", tabindex: 0, role: "application", "aria-roledescription": "timeline",
      "aria-label": `Timeline of slow calls. ${keys}`,
      keydown: (event) => this.onKey(event as KeyboardEvent), blur: () => this.look(null),
      pointerdown: (event) => this.onDown(event as PointerEvent), pointercancel: () => this.endDrag(),
      pointermove: (event) => this.onMove(event as PointerEvent),
      pointerup: (event) => this.onUp(event as PointerEvent),
      pointerleave: () => { if (this.dragFrom === null) this.look(null); }, dblclick: () => this.zoomTo(this.whole) },
    this.canvas, this.names, this.band, this.ring, this.tip);
    const button = (text: string, label: string, click: () => void) =>
      el("button", { type: "button", "aria-label": label, title: label, click }, text);
    this.element = el("section", { id: "timeline", "aria-labelledby": "timeline-title" },
      el("h2", { id: "timeline-title" }, "Timeline",
        el("span", { class: "meaning" },
          `each slow call at its time, in the lane of its thread; the higher, the longer${
            audit.timed ? "" : ` its ${toldParts}`}`)),
      el("div", { class: "beside" }, this.note, el("div", { class: "zoom", role: "group", "aria-label": "Zoom" },
        this.where,
        button("\u25c0", "Earlier", () => this.pan(-panStep)), button("\u25b6", "Later", () => this.pan(panStep)),
        button("+", "Zoom in", () => this.zoom(1 / zoomStep)), button("\u2212", "Zoom out", () => this.zoom(zoomStep)),
        button("Whole run", "Show the whole run", () => this.zoomTo(this.whole)))),
      this.holder);
    view.onChange(drawnSoon(() => this.draw()));
    new ResizeObserver(() => {
      if (this.layout && this.holder.clientWidth !== this.layout.width) this.draw();
    }).observe(this.holder);
  }

  draw(): void {
    const { audit } = this.shown, { lanes, left } = lanesOf(this.shown.calls());
    const width = this.holder.clientWidth;
    if (width === 0) return;
    this.layout = new Layout(width, lanes, this.window, this.low, this.high);
    this.look(null);
    this.names.replaceChildren(...lanes.map((lane) => el("div", { class: "lane-name", style: `top: ${lane.top}px` },
      el("b", {}, this.nameOf(lane, longestName)), ` ${counted(lane.calls.length, "slow call")}`,
      el("span", { class: "lost" }, `, ${duration(lane.slowNs)}`))));
    this.paint(this.layout);
    const listed = audit.slow_calls.length, some = listed < audit.slow_count
      ? `The ${count(listed)} longest of ${count(audit.slow_count)} slow calls. ` : "";
    const others = left.length > 0
      ? `${counted(left.length, "further thread")} with less slow time: choose one above. ` : "";
    this.note.textContent = lanes.length === 0 ? "No slow call is shown."
      : `${some}${others}Drag to zoom, double-click for the whole run; press a mark to open its row.`;
    const [from, to] = this.window;
    this.where.textContent = `${(from / 1e9).toFixed(3)}\u2013${(to / 1e9).toFixed(3)}\u00a0s`;
    this.publish(this.layout);
  }

  private nameOf({ thread }: Lane, longest = Infinity): string {
    const of = this.shown.audit.threads[thread];
    return of ? threadName({ ...of, name: shortened(of.name, longest) }) : "an unknown thread";
  }

  private causeOf(call: SlowCall): string {
    return this.shown.audit.stalls[call.stall]?.cause_kind ?? "";
  }

  private paint(layout: Layout): void {
    const scale = devicePixelRatio || 1, { canvas } = this, { width, height } = layout;
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    canvas.style.height = this.holder.style.height = `${height}px`;
    const context = canvas.getContext("2d");
    if (!context) return;
    context.scale(scale, scale);
    context.font = `11px ${themeColour("--font")}`;
    this.paintGrid(context, layout);
    const calls = new Map<string, number>();
    for (const call of layout.lanes.flatMap((lane) => layout.inWindow(lane))) {
      calls.set(this.causeOf(call), (calls.get(this.causeOf(call)) ?? 0) + 1);
    }
    const frequentFirst = [...calls].sort(([, one], [, other]) => other - one); // so that rare ones lie on top
    for (const [cause, number] of frequentFirst) {
      const radius = number > crowd ? smallRadius : usualRadius;
      for (const lane of layout.lanes) this.paintMarks(context, layout, lane, lookOfCause(cause), radius);
    }
  }

  private paintGrid(context: CanvasRenderingContext2D, layout: Layout): void {
    const rule = (x0: number, y0: number, x1: number, y1: number) => {
      context.beginPath();
      context.moveTo(x0, y0);
      context.lineTo(x1, y1);
      context.stroke();
    };
    const { unit, ticks } = layout.timeTicks();
    context.lineWidth = 1;
    context.strokeStyle = themeColour("--grid");
    context.fillStyle = themeColour("--ink-soft");
    context.textAlign = "center";
    for (const { at, text } of ticks) {
      const x = Math.round(layout.x(at)) + 0.5;
      rule(x, 0, x, layout.axis);
      context.fillText(text, x, layout.axis + 12);
    }
    context.fillText(`time since the audit began, ${unit}`, (layout.left + layout.right) / 2, layout.axis + 30);
    context.textAlign = "right";
    const decades = layout.decades(), crowded = Math.max(1, Math.ceil((decades.length - 1) / 4));
    for (const lane of layout.lanes) {
      for (const [i, { ns, text }] of decades.entries()) {
        const y = Math.round(layout.y(lane, ns)) + 0.5;
        context.strokeStyle = themeColour(i === 0 ? "--ink-soft" : "--grid");
        rule(layout.left, y, layout.right, y);
        if (i % crowded === 0) context.fillText(text, layout.left - 6, y + 4);
      }
    }
  }

  /// A stem from the lane's floor, a bar as long as the call if it is longer than its mark, and the mark of its cause.
  /// What would be painted on the very same pixels is left out.
  private paintMarks(context: CanvasRenderingContext2D, layout: Layout, lane: Lane, look: CauseLook,
                     radius: number): void {
    const stems = new Path2D(), painted = new Set<string>(), base = layout.base(lane);
    context.fillStyle = context.strokeStyle = themeColour(look.colour);
    for (const call of layout.inWindow(lane)) {
      if (this.causeOf(call) !== look.name) continue;
      const x = layout.x(call.at_ns), y = layout.y(lane, call.duration_ns);
      const end = Math.min(layout.right, layout.x(call.at_ns + call.duration_ns));
      const key = `${Math.round(x)} ${Math.round(y)}`;
      if (painted.has(key) || end < layout.left) continue;
      painted.add(key);
      stems.moveTo(x, base);
      stems.lineTo(x, y);
      if (end - x > radius) context.fillRect(Math.max(layout.left, x), y - 1.5, end - Math.max(layout.left, x), 3);
      if (x < layout.left - radius) continue;
      context.beginPath();
      traceShape(context, look, x, y, radius);
      context.fill();
    }
    context.globalAlpha = 0.35;
    context.stroke(stems);
    context.globalAlpha = 1;
  }

  /// Says where the marks are, for a script that reads the page.
  private publish({ left, right, window, low, high, lanes, axis }: Layout): void {
    this.holder.dataset["plotted"] = JSON.stringify({ left, right, window, low, high, axis,
      lanes: lanes.map(({ thread, top, calls }) => ({ thread, top, calls: calls.length })) });
  }

  /// Shows what is known of a call, at its mark; null: of none.
  private look(at: { lane: Lane; call: SlowCall } | null): void {
    this.current = at;
    this.ring.hidden = this.tip.hidden = at === null;
    const stall = at && this.shown.audit.stalls[at.call.stall];
    if (!at || !stall || !this.layout) return;
    const { lane, call } = at, x = Math.max(this.layout.left, this.layout.x(call.at_ns));
    const y = this.layout.y(lane, call.duration_ns);
    this.ring.style.left = `${x}px`;
    this.ring.style.top = `${y}px`;
    this.tip.replaceChildren(
      el("b", {}, `${stall.operation}: ${duration(call.duration_ns)}`), el("span", {}, stall.cause),
      el("span", {}, shortened(placeInWords(stall.site))),
      el("span", {}, `${this.nameOf(lane)}, at ${(call.at_ns / 1e9).toFixed(6)} s`));
    const { offsetWidth: width, offsetHeight: height } = this.tip;
    this.tip.style.left = `${Math.max(0, Math.min(x + 12, this.layout.width - width))}px`;
    this.tip.style.top = `${y - height - 12 >= 0 ? y - height - 12 : y + 14}px`;
  }

  private zoomTo([from, to]: Window): void {
    const [first, last] = this.whole;
    const span = Math.min(last - first, Math.max(leastSpan, to - from));
    const start = Math.min(Math.max(first, from), last - span);
    this.window = [start, start + span];
    this.draw();
  }

  /// Around the call that is looked at, or else around the middle.
  private zoom(factor: number): void {
    const [from, to] = this.window, { current } = this;
    const middle = current ? current.call.at_ns : (from + to) / 2;
    this.zoomTo([middle - (middle - from) * factor, middle + (to - middle) * factor]);
    if (current) this.look(this.again(current));
  }

  private pan(share: number): void {
    const [from, to] = this.window, step = (to - from) * share;
    this.zoomTo([from + step, to + step]);
  }

  /// The same call in the lanes as they are now.
  private again({ lane: { thread }, call }: { lane: Lane; call: SlowCall }): { lane: Lane; call: SlowCall } | null {
    const lane = this.layout?.lanes.find((each) => each.thread === thread);
    return lane ? { lane, call } : null;
  }

  /// Goes to the call that is so many further on in its lane, or in a lane so many below; moves the window if need be.
  private step(along: number, across: number): void {
    const { layout } = this;
    if (!layout || layout.lanes.length === 0) return;
    const { lanes } = layout, from = this.current;
    const row = from ? lanes.indexOf(from.lane) : 0;
    const lane = lanes[Math.min(lanes.length - 1, Math.max(0, row + across))] ?? lanes[0];
    if (!lane) return;
    const time = from ? from.call.at_ns : this.window[0];
    let place = from && lane === from.lane ? lane.calls.indexOf(from.call) + along
      : lane.calls.findIndex((call) => call.at_ns >= time);
    if (place < 0 || place >= lane.calls.length) place = place < 0 && along < 0 ? 0 : lane.calls.length - 1;
    const call = lane.calls[place];
    if (!call) return;
    const [start, end] = this.window;
    const half = (end - start) / 2;
    if (call.at_ns < start || call.at_ns > end) this.zoomTo([call.at_ns - half, call.at_ns + half]);
    this.look(this.again({ lane, call }));
  }

  private onKey(event: KeyboardEvent): void {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const actions: Record<string, () => void> = {
      ArrowRight: () => this.step(1, 0), ArrowLeft: () => this.step(-1, 0),
      ArrowDown: () => this.step(0, 1), ArrowUp: () => this.step(0, -1),
      "+": () => this.zoom(1 / zoomStep), "=": () => this.zoom(1 / zoomStep), "-": () => this.zoom(zoomStep),
      0: () => this.zoomTo(this.whole), Escape: () => this.look(null),
      Enter: () => { if (this.current) this.open(this.current.call.stall); },
    };
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  }

  private placeOf(event: PointerEvent): [number, number] {
    const { left, top } = this.holder.getBoundingClientRect();
    return [event.clientX - left, event.clientY - top];
  }

  private onDown(event: PointerEvent): void {
    if (event.button !== 0) return;
    [this.dragFrom] = this.placeOf(event);
    this.holder.setPointerCapture(event.pointerId);
  }

  private onMove(event: PointerEvent): void {
    const { layout } = this, [x, y] = this.placeOf(event);
    if (!layout) return;
    if (this.dragFrom === null) return this.look(layout.nearest(x, y, reach));
    const [from, to] = [Math.min(this.dragFrom, x), Math.max(this.dragFrom, x)].map((each) =>
      Math.min(layout.right, Math.max(layout.left, each))) as Window;
    this.band.hidden = to - from < leastDrag;
    this.band.style.left = `${from}px`;
    this.band.style.width = `${to - from}px`;
    this.band.style.height = `${layout.axis}px`;
  }

  private onUp(event: PointerEvent): void {
    const { layout, dragFrom } = this, [x, y] = this.placeOf(event);
    this.endDrag();
    if (!layout || dragFrom === null) return;
    if (Math.abs(x - dragFrom) >= leastDrag) {
      return this.zoomTo([layout.timeAt(Math.min(x, dragFrom)), layout.timeAt(Math.max(x, dragFrom))]);
    }
    const at = layout.nearest(x, y, reach);
    if (at) this.open(at.call.stall);
  }

  private endDrag(): void {
    this.dragFrom = null;
    this.band.hidden = true;
  }
}
