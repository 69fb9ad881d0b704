// What the page calls of d3-selection and d3-flame-graph, which come without types.

declare module "d3-selection" {
  /// Elements, each with the datum that is bound to it.
  export interface Selection<Datum> {
    datum(): Datum;
    datum<Other>(value: Other): Selection<Other>;
    selectAll<Other>(selector: string): Selection<Other>;
    filter(matches: (datum: Datum) => boolean): Selection<Datum>;
    attr(name: string, value: string | null | ((datum: Datum) => string | null)): Selection<Datum>;
    call(what: (selection: Selection<Datum>) => void): Selection<Datum>;
  }
  export function select<Datum = unknown>(element: Element): Selection<Datum>;
}

declare module "d3-flame-graph" {
  import type { Selection } from "d3-selection";

  /// A frame as it is laid out. `x0` and `x1` are shares of the width; `value` is 0 for a frame that zooming hides.
  export interface FlameNode<Data> {
    data: Data & { fade?: boolean; hide?: boolean };
    value: number; depth: number; x0: number; x1: number; highlight?: boolean;
    parent: FlameNode<Data> | null; children?: FlameNode<Data>[];
  }

  export interface FlameChart<Data> {
    (selection: Selection<Data>): void;
    width(pixels: number): this;
    cellHeight(pixels: number): this;
    minFrameSize(pixels: number): this;
    transitionDuration(ms: number): this;
    sort(compare: (a: FlameNode<Data>, b: FlameNode<Data>) => number): this;
    setLabelHandler(text: (node: FlameNode<Data>) => string): this;
    setColorMapper(colour: (node: FlameNode<Data>, usual: string) => string): this;
    setDetailsHandler(show: (text: string | null) => void): this;
    setSearchMatch(matches: (node: FlameNode<Data>, term: string) => boolean): this;
    setSearchHandler(found: (nodes: FlameNode<Data>[], sum: number, total: number) => void): this;
    onClick(handler: (node: FlameNode<Data>) => void): this;
    search(term: string): void;
    clear(): void;
    zoomTo(node: FlameNode<Data>): void;
    resetZoom(): void;
    destroy(): this;
  }

  export default function flamegraph<Data>(): FlameChart<Data>;
}
