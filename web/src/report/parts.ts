// The phases of requests: for a whole run, taken from the report; for a span or over time, computed from blocks.

import { Histogram, Ranked, type Quantity } from '../lib/histogram';
import type { Text } from '../lib/i18n';
import { quantileOf, type Dist, type Run, type Span } from '../lib/run.svelte';
import { W } from '../lib/words';
import { blocksIn, isPart, stretches, type Blocks } from './named';

/**
 * Phases in the order in which a request passes through them; those with `open` have no meaning under closed load.
 * Flows have the generator's lateness under both.
 */
const PARTS: { key: string; label: Text; open?: boolean; indent?: boolean; of: 'latency' | 'phases'; color: string }[] = [
  { key: 'gen_late', label: W.gen_late, of: 'latency', color: 'failed' },
  { key: 'wait_conn', label: W.wait_conn, open: true, of: 'latency', color: 'users' },
  { key: 'service', label: W.servicePart, of: 'latency', color: 'scheduled' },
  { key: 'first_byte', label: W.first_byte, indent: true, of: 'phases', color: 'succeeded' },
  { key: 'transfer', label: W.transfer, indent: true, of: 'phases', color: 'sent' },
  { key: 'connect', label: W.connect, of: 'phases', color: 'run-d' },
  { key: 'tls', label: W.tls, of: 'phases', color: 'run-e' },
  { key: 'greeting', label: W.greeting, of: 'phases', color: 'run-c' },
  { key: 'message_gap', label: W.message_gap, of: 'phases', color: 'p50' },
  { key: 'heartbeat', label: W.heartbeat, of: 'phases', color: 'p95' },
  { key: 'failed_responses', label: W.failed_responses, of: 'latency', color: 'failed' },
  { key: 'failed', label: W.failures_time, of: 'latency', color: 'failed' },
];
/** Phases drawn over time: those that a request passes through one after the other. */
const DRAWN = ['gen_late', 'wait_conn', 'connect', 'tls', 'greeting', 'first_byte', 'transfer'];

export interface PartRow {
  key: string;
  label: Text;
  indent: boolean;
  color: string;
  count: number;
  quantile: (key: string) => Quantity;
}

const SHARE: Record<string, number> = { p50: 0.5, p95: 0.95, p99: 0.99 };
const figure = (ranked: Ranked, key: string): Quantity => (key === 'mean' ? ranked.mean() : key === 'max' ? ranked.max() : ranked.quantile(SHARE[key]));

/** Returns the blocks of phases in a span. */
export const partBlocks = (run: Run, span: Span | null): Blocks => blocksIn(run.parts, run.head.grain.phases_s, span);

function rankedOf(run: Run, key: string, indices: readonly number[]): Ranked {
  const grouping = run.head.grain.phases;
  const [finished, atLeast] = [new Histogram(grouping), new Histogram(grouping)];
  for (const i of indices) {
    const { parts } = run.parts[i];
    if (parts[key]) finished.add(parts[key]);
    if (parts[`${key}_at_least`]) atLeast.add(parts[`${key}_at_least`]);
  }
  return new Ranked(finished, atLeast);
}

/** Returns the phases that occurred in any request. */
export function partRows(run: Run, span: Span | null): PartRow[] {
  const { report } = run.head;
  const blocks = partBlocks(run, span);
  return PARTS.filter(({ open }) => !open || run.isOpen).flatMap(({ key, label, indent, of, color }): PartRow[] => {
    const told = { key, label, indent: !!indent, color };
    if (!isPart(run, span)) {
      const dist = report[of]?.[key] as Dist | null | undefined;
      return dist && dist.count > 0 ? [{ ...told, count: dist.count, quantile: (q) => quantileOf(dist, q) }] : [];
    }
    const ranked = rankedOf(run, key, blocks.indices);
    return ranked.count > 0 ? [{ ...told, count: ranked.count, quantile: (q) => figure(ranked, q) }] : [];
  });
}

/** Returns the percentiles of a phase over time, block by block. */
export function partOverTime(run: Run, key: string): { x: number[]; lines: { key: string; values: (number | null)[]; bounds: boolean[] }[] } {
  const { x, at } = stretches(run.parts, run.extent);
  const ranked = at.map((i) => (i < 0 ? null : rankedOf(run, key, [i])));
  const lines = (['p50', 'p95', 'p99'] as const).map((q) => {
    const all = ranked.map((one): Quantity => (one ? figure(one, q) : { ns: null, atLeast: false }));
    return { key: q, values: all.map(({ ns }) => ns), bounds: all.map(({ atLeast }) => atLeast) };
  });
  return { x, lines };
}

/** Returns the phases over time: the mean of each block, or a percentile if enough requests had the phase. */
export function partsOverTime(run: Run, q: 'mean' | 'p50' | 'p95' | 'p99'): { x: number[]; lines: { key: string; label: Text; color: string; values: (number | null)[]; bounds: boolean[] }[] } {
  const { x, at } = stretches(run.parts, run.extent);
  const lines = PARTS.filter(({ key, open }) => DRAWN.includes(key) && (!open || run.isOpen)).map(({ key, label, color }) => {
    const all = at.map((i): Quantity => (i < 0 ? { ns: null, atLeast: false } : figure(rankedOf(run, key, [i]), q)));
    return { key, label, color, values: all.map(({ ns }) => ns), bounds: all.map(({ atLeast }) => atLeast) };
  });
  return { x, lines: lines.filter(({ values }) => values.some((v) => v !== null && v > 0)) };
}
