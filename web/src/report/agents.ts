// The agents of a run of many machines: their rows, their curves, and where some are missing.

import type { Line } from '../components/types';
import { percent } from '../lib/format';
import { say, t, type Text } from '../lib/i18n';
import { RUNS } from '../lib/palette';
import type { Dist, Mark, Run } from '../lib/run.svelte';
import { stretches } from './named';

export const A = {
  agents: t('Agents', '施压机'),
  agent: t('agent', '施压机'),
  number: t('agents', '施压机数'),
  label: t('label', '标签'),
  labels: t('labels', '标签'),
  byLabel: t('By label', '按标签'),
  late: t('sent late p99', '晚发 p99'),
  busiest: t('busiest worker', '最忙线程'),
  trust: t('trust', '可信度'),
  started: t('started after', '启动晚'),
  within: t('started within {spread} (± {within})', '启动时刻相差 {spread}（± {within}）'),
  atMost: t('started at most {most} apart: their clocks could only be compared to ± {within}', '启动时刻最多相差 {most}：各机时钟只能比较到 ± {within}'),
  whole: t('Figures of the whole run, whatever part of it is selected.', '整次压测的数据，与所选时段无关。'),
  rateOver: t('Successes per second', '每秒成功数'),
  latencyOver: t('{quantile} of each agent', '各施压机的 {quantile}'),
  latencyOverLabels: t('{quantile} of each label', '各标签的 {quantile}'),
  some: t('the {n} agents that stand first in doubt, or are slowest', '最存疑或最慢的 {n} 个施压机'),
  trusted: t('trusted', '可信'),
  too_short: t('too short', '过短'),
  caution: t('caution', '谨慎'),
  not_trusted: t('not trusted', '不可信'),
  lost: t('lost', '丢失'),
  someLost: t('{trust}, {n} lost', '{trust}，丢失 {n} 个'),
  missing: t('{share} of the load is missing', '缺少 {share} 的负载'),
} as const;

/** The figures of an agent, or of the agents with a label, as in the JSON report. */
export interface FleetRow {
  /** Of an agent. */
  name?: string;
  labels?: string[];
  ended?: string;
  started_after_us?: number | null;
  reasons?: { grade: string; sentence: string }[];
  /** Of a label. */
  label?: string;
  agents?: string[];
  share: number;
  throughput_per_s: number;
  scheduled: number;
  succeeded: number;
  failed: number;
  latency: Dist;
  generator_late: Dist;
  busiest_share: number | null;
  verdict: 'trusted' | 'too_short' | 'caution' | 'not_trusted';
}

/** Returns the verdict on a row: that on its machine, or that it was lost before the run ended. */
export function verdictOf(row: FleetRow, run: Run): 'lost' | FleetRow['verdict'] {
  return row.ended === 'cut_off' && run.head.report.ended !== 'cut_off' ? 'lost' : row.verdict;
}

/** Returns the verdict on the agents of a label that were not lost, and how many were; of an agent, the verdict on it. */
export function trustOf(row: FleetRow, run: Run): { verdict: 'lost' | FleetRow['verdict']; lost: number } {
  if (row.label === undefined) return { verdict: verdictOf(row, run), lost: 0 };
  const all = (run.head.report.agents ?? []) as FleetRow[];
  const verdicts = all.filter(({ name }) => name !== undefined && row.agents?.includes(name)).map((agent) => verdictOf(agent, run));
  const lost = verdicts.filter((verdict) => verdict === 'lost').length;
  if (lost > 0 && lost === verdicts.length) return { verdict: 'lost', lost: 0 };
  return { verdict: WORST.find((verdict) => verdicts.includes(verdict)) ?? row.verdict, lost };
}

const WORST = ['not_trusted', 'caution', 'too_short', 'trusted'] as const;

/** A block of the curves: `[curve, succeeded, failed, p50, p99]`, as in the lines of seconds. */
interface CurveBlock {
  from: number;
  to: number;
  rows: [number, number, number, number, number][];
}

/** Curves over time: successes per second, and p99, or p50 if there are too few requests for that. */
export interface AgentCurves {
  x: number[];
  rate: Line[];
  quantile: 'p99' | 'p50';
  latency: Line[];
}

/** Returns the curves of a run; null if one machine made it. */
export function curvesOf(run: Run): AgentCurves | null {
  const { curves } = run.head;
  if (!curves) return null;
  const lines = run.rest.filter((line) => typeof line.g === 'number') as { g: number; r: CurveBlock['rows'] }[];
  const blocks = lines.map(({ g, r }): CurveBlock => ({ from: g, to: g + curves.block_s, rows: r })).sort((a, b) => a.from - b.from);
  const { x, at } = stretches(blocks, run.extent);
  const line = (curve: number, values: (number | null)[], bounds?: boolean[]): Line => ({
    key: `${curve}`, label: curves.names[curve], color: RUNS[curve % RUNS.length], dash: curve >= RUNS.length, values, bounds,
  });
  const of = (curve: number): (CurveBlock['rows'][number] | undefined)[] => at.map((i) => (i < 0 ? undefined : blocks[i].rows.find((row) => row[0] === curve)));
  // A block that is partly outside the run is divided by the time inside it.
  const rate = curves.names.map((_, curve) => line(curve, of(curve).map((row, i) => (row && x[i + 1] - x[i] >= 0.2 ? row[1] / (x[i + 1] - x[i]) : null))));
  const quantile = blocks.some(({ rows }) => rows.some((row) => row[4] !== 0)) ? 'p99' : 'p50';
  const latency = curves.names.map((_, curve) => {
    const all = of(curve).map((row) => row?.[quantile === 'p99' ? 4 : 3] ?? 0);
    return line(curve, all.map((ns) => (ns ? Math.abs(ns) : null)), all.map((ns) => ns < 0));
  });
  return { x, rate, quantile, latency };
}

/** Returns the stretches in which some agents are missing, as marks. */
export function missingOf(run: Run): Mark[] {
  const all = (run.head.report.missing ?? []) as { from_s: number; to_s: number; share: number }[];
  return all.map(({ from_s, to_s, share }): Mark => {
    const facts = { share: percent(share, 1) };
    const text: Text = { en: say(A.missing, 'en', facts), zh: say(A.missing, 'zh', facts) };
    return { at: from_s, to: to_s, kind: 'notice', text, label: { en: `−${facts.share}`, zh: `−${facts.share}` } };
  });
}
