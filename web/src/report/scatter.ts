// Latency against the rate of the same moment.

import { WARMUP, type Run, type Span } from '../lib/run.svelte';
import { blocksOf, percentiles } from './figures';

export interface Moment {
  from: number;
  to: number;
  /** Requests sent a second. */
  rate: number;
  /** Nanoseconds. */
  value: number;
  atLeast: boolean;
}

/** A point for each second of a span, or for as many together as the percentile needs; seconds without one have none. */
export function moments(run: Run, key: 'p50' | 'p95' | 'p99', span: Span | null): Moment[] {
  const found = percentiles(run).find((one) => one.key === key);
  if (!found) return [];
  const { from, to, part, sent, warmup } = run.columns;
  const [first, end] = run.within(span);
  const all: Moment[] = [];
  const blocks = blocksOf(run, found.over);
  for (let i = first; i < end; ) {
    let [n, length, begins] = [0, 0, i];
    for (; i < end && (found.over > 1 ? blocks[i] === blocks[begins] : i === begins); i++) {
      if (part[i] === WARMUP) continue;
      n += sent[i] + warmup[i];
      length += to[i] - from[i];
    }
    const value = found.values[begins];
    if (value !== null && length >= 0.2) all.push({ from: from[begins], to: to[i - 1], rate: n / length, value, atLeast: found.bounds[begins] });
  }
  return all;
}
