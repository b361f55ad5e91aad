// The page of an experiment as data: a single line of JSON, which `crates/experiment/src/report` writes.

import type { Lang } from '../lib/view.svelte';

/** How an answer or a series is to be taken. */
export type Tone = 'good' | 'bad' | 'doubt' | 'plain';

/** The unit of an axis: `elapsed` is in seconds, `moment` in milliseconds since 1970; `names` are indices of names. */
export type AxisUnit = 'users' | 'per_second' | 'micros' | 'share' | 'elapsed' | 'moment' | 'number' | 'names';

export interface Axis {
  label: string;
  unit: AxisUnit;
  names?: string[];
  log: boolean;
}

export interface Point {
  x: number;
  y: number;
  /** Ends of the interval on the second axis; null for an end that is unknown or infinite. */
  interval?: [number | null, number | null];
  /** The value of a cell. */
  value?: number;
  /** The same with its unit. */
  text?: string;
  /** What it is, in words; a point without words only guides a line. */
  label: string;
}

export interface Series {
  name: string;
  kind: 'points' | 'line' | 'steps' | 'bars' | 'cells';
  tone: Tone;
  points: Point[];
}

export interface Chart {
  title: string;
  x: Axis;
  y: Axis;
  series: Series[];
}

/** A table, whose first row is its heading; `is_detail` for one that shows what others sum up. */
export interface TableBlock {
  block: 'table';
  caption: string | null;
  rows: string[][];
  is_detail?: boolean;
}

export type Block =
  | { block: 'answer'; tone: Tone; sentence: string }
  | { block: 'sentences'; sentences: string[] }
  | TableBlock
  | ({ block: 'chart' } & Chart);

export interface Words {
  title: string;
  blocks: Block[];
}

export interface Experiment {
  kind: 'find' | 'compare' | 'sweep' | 'ladder' | 'trend';
  brunt: string;
  unix_ms: number;
  command: string[];
  exit_code: number;
  /** Whether its record is still growing. */
  live: boolean;
  text: Record<Lang, Words>;
}

/** Parses the line of a page. */
export function experimentOf(line: string): Experiment {
  const { experiment } = JSON.parse(line) as { experiment?: Experiment };
  if (!experiment?.text) throw new Error('no experiment');
  return experiment;
}

/** Blocks that stand together: charts side by side, everything else alone. */
export type Group = { charts: Chart[] } | { charts: null; block: Exclude<Block, Chart & { block: 'chart' }> };

/** Groups blocks in their order. */
export function grouped(blocks: readonly Block[]): Group[] {
  const groups: Group[] = [];
  for (const block of blocks) {
    const last = groups[groups.length - 1];
    if (block.block !== 'chart') groups.push({ charts: null, block });
    else if (last?.charts) last.charts.push(block);
    else groups.push({ charts: [block] });
  }
  return groups;
}
