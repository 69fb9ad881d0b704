// The reader's choices on what to show; everything that draws listens to them.

export type ScaleChoice = "auto" | "log" | "linear";

export class View {
  readonly hidden = new Set<string>();
  scale: ScaleChoice = "auto";
  private readonly listeners: (() => void)[] = [];

  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }

  changed(): void {
    for (const listener of this.listeners) listener();
  }

  toggle(backend: string): void {
    if (!this.hidden.delete(backend)) this.hidden.add(backend);
    this.changed();
  }

  showAll(): void {
    this.hidden.clear();
    this.changed();
  }

  choose(scale: ScaleChoice): void {
    this.scale = scale;
    this.changed();
  }
}
