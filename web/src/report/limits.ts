// Limits of latency that objectives set, as lines in charts and as notes of figures.

import { duration } from '../lib/format';
import type { Run } from '../lib/run.svelte';

/** A limit of latency in nanoseconds. */
export interface Limit {
  value: number;
  label: string;
  /** Key of the percentile that it limits; null for the mean and the maximum. */
  key: string | null;
  missed: boolean;
}

interface Reported {
  objective: string;
  met: boolean;
  outcome?: string;
  limit_us?: number;
  quantile?: number;
  name?: string;
}

const KEYS: Record<string, string> = { 0.5: 'p50', 0.9: 'p90', 0.95: 'p95', 0.99: 'p99', 0.999: 'p99_9' };

/** Returns the limits for the requests of a name; null for those of all requests. */
export function limitsOf(run: Run, name: string | null): Limit[] {
  const all = (run.head.report.objectives ?? []) as Reported[];
  return all
    .filter((one) => one.limit_us !== undefined && (one.name ?? null) === name)
    .map((one) => ({
      value: one.limit_us! * 1000, label: `${one.objective.split(/[<>=]/)[0]} ${duration(one.limit_us! * 1000)}`, key: one.quantile === undefined ? null : (KEYS[one.quantile] ?? null),
      missed: one.outcome === undefined ? !one.met : one.outcome === 'missed',
    }));
}
