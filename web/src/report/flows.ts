// Scenarios and their iterations: for a whole run, taken from the report; for a span or a run in progress, computed
// from its blocks.

import type { Quantity } from '../lib/histogram';
import { FLOW, quantileOf, WINDOW, type Dist, type FlowColumn, type Run, type Span } from '../lib/run.svelte';
import { blocksOf, curveOf, isPart, merged, type Blocks } from './named';

const SHARE: Record<string, number> = { p50: 0.5, p95: 0.95, p99: 0.99 };

/** Iterations or a group, as in the report. */
interface Spans {
  scenario?: string;
  name: string;
  started: number;
  dropped: number;
  succeeded: number;
  failed: number;
  cut: number;
  throughput_per_s: number;
  duration: Dist;
  active: Dist;
}

export interface IterationRow {
  /** Index among the rows of the table. `row` is the index of its figures within a block. */
  index: number;
  row: number;
  scenario: string | null;
  /** Name of the group; null for whole iterations. */
  group: string | null;
  started: number;
  succeeded: number;
  failed: number;
  cut: number;
  dropped: number;
  perS: number;
  quantile: (key: string) => Quantity;
  active: Quantity;
  curve: (number | null)[];
}

/** Returns a row for the iterations and for each group, scenario by scenario. */
export function iterationRows(run: Run, span: Span | null, blocks: Blocks = blocksOf(run, span)): IterationRow[] {
  const names = run.head.names.length;
  const length = run.windowLength(span ? { from: blocks.from, to: blocks.to } : null);
  return (run.head.report.iterations as Spans[]).map((of, index) => {
    const row = names + 2 * index;
    const isWhole = index === 0 || (of.scenario !== undefined && (run.head.report.iterations as Spans[])[index - 1].scenario !== of.scenario);
    const told = { index, row, scenario: of.scenario ?? null, group: isWhole ? null : of.name, curve: curveOf(run, row) };
    if (!isPart(run, span)) {
      const { started, succeeded, failed, cut, dropped, throughput_per_s: perS } = of;
      return { ...told, started, succeeded, failed, cut, dropped, perS, quantile: (key) => quantileOf(of.duration, key), active: quantileOf(of.active, 'p50') };
    }
    const { counts, ranked } = merged(run, row, blocks.indices);
    const { ranked: active } = merged(run, row + 1, blocks.indices);
    return {
      ...told, started: counts[0] - counts[6], succeeded: counts[1], failed: counts[2], cut: counts[3], dropped: counts[6], perS: length > 0 ? counts[4] / length : 0,
      quantile: (key) => (key === 'max' ? ranked.max() : ranked.quantile(SHARE[key])), active: active.quantile(0.5),
    };
  });
}

interface Reported {
  name: string;
  scheduled: number;
  succeeded: number;
  failed: number;
  unfinished: number;
  throughput_per_s: number;
  users_mean: number;
  latency: Dist;
}

export interface ScenarioRow {
  index: number;
  row: number;
  name: string;
  users: number;
  scheduled: number;
  succeeded: number;
  failed: number;
  unfinished: number;
  perS: number;
  quantile: (key: string) => Quantity;
  iterations: IterationRow;
}

/** Returns a row for each scenario; empty for a run without scenarios. */
export function scenarioRows(run: Run, span: Span | null): ScenarioRow[] {
  const reported: Reported[] = run.head.report.scenarios ?? [];
  if (!reported.length) return [];
  const blocks = blocksOf(run, span);
  const all = iterationRows(run, span, blocks);
  const behind = run.head.names.length + 2 * all.length;
  const length = run.windowLength(span ? { from: blocks.from, to: blocks.to } : null);
  const whole = all.filter(({ group }) => group === null);
  return reported.map((of, index) => {
    const told = { index, row: behind + index, name: of.name, iterations: whole[index] };
    if (!isPart(run, span)) {
      const { scheduled, succeeded, failed, unfinished, throughput_per_s: perS, users_mean: users } = of;
      return { ...told, users, scheduled, succeeded, failed, unfinished, perS, quantile: (key) => quantileOf(of.latency, key) };
    }
    const { counts, ranked } = merged(run, told.row, blocks.indices);
    return {
      ...told, users: usersMean(run, index, span), scheduled: counts[0], succeeded: counts[1], failed: counts[2], unfinished: counts[3],
      perS: length > 0 ? counts[4] / length : 0, quantile: (key) => (key === 'max' ? ranked.max() : ranked.quantile(SHARE[key])),
    };
  });
}

/** Returns the mean number of users over the seconds of the window, as in the report. */
function usersMean(run: Run, flow: number, span: Span | null): number {
  const [first, end] = run.within(span);
  const length = run.windowLength(span);
  let ms = 0;
  for (let i = first; i < end; i++) if (run.columns.part[i] === WINDOW) ms += run.flows[i][flow]?.[FLOW.indexOf('usersMs')] ?? 0;
  return length > 0 ? ms / 1000 / length : 0;
}

/** Returns the mean number of users of a flow in each second. */
export function usersOverTime(run: Run, flow: number): (number | null)[] {
  return flowOverTime(run, flow, 'usersMs', true).map((ms) => (ms === null ? null : ms / 1000));
}

/** Returns a column of a flow over time, either unchanged or as a rate per second. */
export function flowOverTime(run: Run, flow: number, column: FlowColumn, perS: boolean): (number | null)[] {
  const { from, to } = run.columns;
  const at = FLOW.indexOf(column);
  return run.flows.map((flows, i) => {
    const value = flows[flow]?.[at];
    if (value === undefined) return null;
    const length = to[i] - from[i];
    return perS ? (length >= 0.2 ? value / length : null) : value;
  });
}

/** Returns whether a column is ever positive in any flow. */
export function flowHas(run: Run, column: FlowColumn): boolean {
  const at = FLOW.indexOf(column);
  return run.flows.some((flows) => flows.some((flow) => flow[at] > 0));
}
