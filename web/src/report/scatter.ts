// Latency against the rate at the same time.

import { WARMUP, type Run, type Span } from '../lib/run.svelte';
import { percentiles } from './figures';

export interface Moment {
  from: number;
  to: number;
  /** Requests sent per second. */
  rate: number;
  /** Latency in nanoseconds. */
  value: number;
  atLeast: boolean;
}

/**
 * Returns a point for each second of a span, or for each group of as many seconds as the percentile needs; intervals
 * without a percentile are omitted.
 */
export function moments(run: Run, key: 'p50' | 'p95' | 'p99', span: Span | null): Moment[] {
  const { lines, blocks } = percentiles(run, span);
  const found = lines.find((one) => one.key === key);
  if (!found) return [];
  const { from, to, part, sent, warmup } = run.columns;
  const [first, end] = run.within(span);
  const all: Moment[] = [];
  for (let i = first; i < end; ) {
    let [n, length, begins] = [0, 0, i];
    for (; i < end && blocks[i] === blocks[begins]; i++) {
      if (part[i] === WARMUP) continue;
      n += sent[i] + warmup[i];
      length += to[i] - from[i];
    }
    const value = found.values[begins];
    if (value !== null && length >= 0.2) all.push({ from: from[begins], to: to[i - 1], rate: n / length, value, atLeast: found.bounds[begins] });
  }
  return all;
}
