// What every page consists of, and the moment from which it is ready.

import { drawAll, type Drawable } from "./chart";
import { followReading } from "./controls";
import { el, type Child } from "./dom";

/// `places`: the sections to go to, as id and name. `charts` are drawn once all is in the document.
export interface Frame {
  title: string; head: HTMLElement; bar: HTMLElement; sections: Child[]; footer: string;
  places: [string, string][]; charts: Drawable[];
}

export function fillRoot(root: HTMLElement, { title, head, bar, sections, footer, places, charts }: Frame): void {
  root.append(head, bar, el("main", {}, ...sections), el("footer", {}, `${footer} · this file needs no network`));
  followReading(places);
  document.title = title;
  drawAll(charts, () => {
    root.dataset["drawn"] = "true";
  });
  root.dataset["ready"] = String(Math.round(performance.now())); // ms since the page was requested
}
