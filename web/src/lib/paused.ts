// Pauses of the load.

export interface Changed {
  at_ns: number;
  change: unknown;
}

/** Returns the time in seconds for which the load was paused within a span. `changes` are ordered by time. */
export function pausedWithin(changes: readonly Changed[], span: { from: number; to: number }): number {
  const within = (ns: number): number => Math.min(Math.max(ns / 1e9, span.from), span.to);
  let since: number | null = null;
  let paused = 0;
  for (const { at_ns, change } of changes) {
    if (change === 'pause') since ??= within(at_ns);
    else if (change === 'resume' && since !== null) [paused, since] = [paused + within(at_ns) - since, null];
  }
  return paused + (since === null ? 0 : span.to - since);
}
