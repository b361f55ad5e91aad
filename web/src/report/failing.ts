// When and how often each kind of failure occurred.

import { WARMUP, type Run, type Span } from '../lib/run.svelte';

export interface Seen {
  count: number;
  /** Start times of the seconds with its first and last occurrence. */
  first: number;
  last: number;
}

/** Returns the key that identifies a kind of failure. */
export const sortKey = ({ kind, phase, errno }: { kind: string; phase: string; errno: string | null }): string => JSON.stringify([kind, phase, errno]);

/** Returns the failures of a span by `sortKey`, without the warm-up. */
export function failuresOf(run: Run, span: Span | null): Map<string, Seen> {
  const all = new Map<string, Seen>();
  const [begin, end] = run.within(span);
  for (let i = begin; i < end; i++) {
    if (run.columns.part[i] === WARMUP) continue;
    const moment = run.columns.from[i];
    for (const [kind, phase, errno, n] of run.sorts[i]) {
      const key = sortKey({ kind, phase, errno });
      const known = all.get(key);
      all.set(key, { count: (known?.count ?? 0) + n, first: known?.first ?? moment, last: moment });
    }
  }
  return all;
}
