// A run as drawn by the pages, built line by line from the packed lines of a report or the live lines of a run in
// progress. `crates/report/src/formats/html` writes the lines and documents them.

import { Histogram, Ranked, decoded, type Numbers, type Quantity } from './histogram';

/** The columns of a second, in the order of its line. Here, times are in seconds since the start of the window. */
export const SECOND = [
  'from', 'to', 'part', 'due', 'sent', 'finished', 'failed', 'censored', 'finishedOfWarmup', 'warmup', 'users',
  'inFlight', 'waiting', 'bytesSent', 'bytesReceived', 'opened', 'openFailed', 'lost', 'open', 'cpuUs', 'busiestUs',
] as const;
export type Column = (typeof SECOND)[number];

export const WARMUP = 0;
export const WINDOW = 1;
export const DRAIN = 2;

/** A part of a run, in seconds since the start of its window. */
/** The part of a plan, or of one of its scenarios, that says when its load changes; times in nanoseconds. */
interface PlannedLoad {
  load?: { stages?: { lasts: number }[] };
  start?: number;
  duration?: number | null;
}

export interface Span {
  from: number;
  to: number;
}

/** An event at a time, in seconds since the start of the window; with `to`, one that lasted. */
export interface Mark {
  at: number;
  to?: number;
  kind: 'stage' | 'change' | 'notice' | 'warmup' | 'drain' | 'pause' | 'outage' | 'burst';
  text: { en: string; zh: string };
  /** A word or two, to stand on a chart. */
  label?: { en: string; zh: string };
}

/**
 * The figures of a name in a block of seconds: `[name, scheduled, succeeded, failed, unfinished, succeeded within the
 * window, payload, latency, bounds, dropped, from cache, latency of what brunt may have delayed, the same without]`.
 */
export type NamedRow = [number, number, number, number, number, number, number, Numbers, Numbers, number?, number?, Numbers?, Numbers?];

/** The columns of a flow in a second, in the order of its row; each flow has a row. */
export const FLOW = ['users', 'due', 'finished', 'failed', 'started', 'succeeded', 'unsuccessful', 'dropped', 'usersMs'] as const;
export type FlowColumn = (typeof FLOW)[number];

/** Failures of one kind in a second: kind, phase, errno and count. */
export type Sort = [string, string, string | null, number];

/** The phases of requests in a block of seconds: histograms by the name of the phase in the report. */
export interface PartsBlock {
  from: number;
  to: number;
  parts: Record<string, Numbers>;
}

export interface Block {
  from: number;
  to: number;
  rows: NamedRow[];
}

/** A counter of a host: the times of its readings in seconds, and their values; null if it could not be read. */
export interface Counter {
  name: string;
  at: number[];
  value: (number | null)[];
  /** Whether it is recorded less often than its host is read. */
  coarse: boolean;
}

export interface Words {
  target: string | null;
  load: string[];
  machinery: string | null;
  first_answer: string | null;
  probed: string[];
  verdict: string;
  gist: string;
  line: string;
  exit: string;
  reasons: string[];
  objectives: string[];
  limits: { claim: string; details: string[] }[];
  pages: { rule: string; title: string; paragraphs: string[] }[];
  notices: string[];
  changes: string[];
  stretches: { what: string; load: string }[];
  heading: string;
  ranked: string;
  throughput: string[];
  account: string;
  apart: string[];
  failures: { sort: string; kind: string; parts: { what: string; count: number; names: [string, number][] }[]; advice: string | null; detail: string | null }[];
  connections: string[];
}

/** A distribution as in the JSON report, with times in microseconds. */
export interface Dist {
  count: number;
  unanswered: number;
  min_us: number | null;
  mean_us: number | null;
  mean_at_least_us?: number;
  max_us: number | null;
  max_at_least_us?: number;
  histogram?: string;
  histogram_at_least?: string;
  [key: string]: number | null | undefined | string | [number | null, number | null];
}

/** The head of a run's lines. Its report is that of `brunt report --format json`. */
export interface Head {
  run: number;
  name: string;
  // The schema of the report is `docs/schema/report.json`; a page reads only the parts that it shows.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  report: any;
  percentiles: [number, number | null, boolean, [number | null, number | null] | null, ([number, number] | null)?, ('warn' | 'fail' | null)?][];
  only_holds: boolean;
  names: string[];
  groups: string[];
  /** The scenario of each flow; null for the only flow of a run without scenarios. */
  flows: (string | null)[];
  /** Whether the run is in progress, so that its report has no figures yet. */
  live: boolean;
  grain: { second_s?: number; buckets: number; names: number; block_s: number; phases: number; phases_s: number; coarse: number };
  hosts: Record<string, { readings: number; coarse: number }>;
  words: { en: Words; zh: Words };
  /** The curves of agents or labels, in a run of many machines. */
  curves?: { names: string[]; by_label: boolean; block_s: number };
}

/** What charts show of seconds: of all of a run, or of a part of it. */
export interface Seconds {
  columns: Pick<Record<Column, number[]>, 'from' | 'to' | 'part' | 'due' | 'sent' | 'warmup' | 'finished' | 'finishedOfWarmup' | 'failed'>;
  quantiles: [number, number, number][];
}

/** The figures of a second within a step, in the order of its line. */
type Detail = [from: number, to: number, due: number, sent: number, finished: number, failed: number, finishedOfWarmup: number, warmup: number, p50: number, p95: number, p99: number];

/** The longest part of a run whose seconds are shown where the run comes in steps. */
const CLOSE = 1800;

export class Run {
  head: Head;
  readonly #columns = Object.fromEntries(SECOND.map((name) => [name, []])) as unknown as Record<Column, number[]>;
  readonly #quantiles: [number, number, number][] = [];
  readonly #latency: (Numbers | undefined)[] = [];
  readonly #atLeast: (Numbers | undefined)[] = [];
  readonly #delayed: (Numbers | undefined)[] = [];
  readonly #undelayed: (Numbers | undefined)[] = [];
  readonly #sorts: Sort[][] = [];
  readonly #codes: Record<string, number>[] = [];
  readonly #flows: number[][][] = [];
  readonly #checks: [number, number, number][][] = [];
  readonly #parts: PartsBlock[] = [];
  readonly #details: Detail[][] = [];
  readonly #turned: number[] = [];
  #began: number | null = null;
  readonly #blocks: Block[] = [];
  readonly #hosts = new Map<string, Map<string, Counter>>();
  readonly #readings = new Map<string, number[]>();
  /** Lines that only some pages draw. */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly rest: any[] = [];
  /** Increases when lines are added, so that readers update although the arrays grow in place. */
  version = $state(0);

  constructor(head: Head) {
    this.head = head;
    // All hosts of the head are listed from the start, in its order.
    for (const host of Object.keys(head.hosts)) this.#hosts.set(host, new Map());
  }

  get length(): number {
    void this.version;
    return this.#quantiles.length;
  }

  /** Returns the columns of the seconds. */
  get columns(): Record<Column, number[]> {
    void this.version;
    return { ...this.#columns };
  }

  /** Returns the times at which the load changed, ascending, in seconds: the starts of stages, and changes during the run. */
  get turns(): number[] {
    void this.version;
    const { report } = this.head;
    // The load of a plan with scenarios adds up those of one kind, users or arrivals; the others turn at their own times.
    const loads = [report.plan ?? {}, ...(report.plan?.scenarios ?? [])] as PlannedLoad[];
    const stages = loads.flatMap(({ load, start = 0, duration }) => {
      let at = start;
      const ends = (load?.stages ?? []).map(({ lasts }) => (at += lasts));
      return [start, ...ends, ...(duration ? [start + duration] : [])].map((ns) => ns / 1e9);
    });
    const changes = ((report.changes ?? []) as { at_ns: number }[]).map(({ at_ns }) => at_ns / 1e9);
    const all = report.stretches ? (report.stretches as { from_s: number }[]).map(({ from_s }) => from_s) : [...stages, ...changes, ...this.#turned];
    return [...new Set(all)].filter((one) => one > 0 && Number.isFinite(one)).sort((a, b) => a - b);
  }

  /** Adds a change of the load of a run in progress. */
  turned(at: number): void {
    this.#turned.push(at);
    this.version++;
  }

  /** Returns the seconds of a part of a run that comes in steps; null if it comes in seconds, or if the part is too long. */
  detailOf(span: Span | null): Seconds | null {
    void this.version;
    if (!span || this.#details.length === 0 || span.to - span.from > CLOSE) return null;
    const columns: Seconds['columns'] = { from: [], to: [], part: [], due: [], sent: [], warmup: [], finished: [], finishedOfWarmup: [], failed: [] };
    const quantiles: [number, number, number][] = [];
    const [first, end] = this.within(span);
    for (let i = first; i < end; i++) {
      for (const [from, to, due, sent, finished, failed, finishedOfWarmup, warmup, p50, p95, p99] of this.#details[i] ?? []) {
        const all = { from: from / 1000, to: to / 1000, part: this.#columns.part[i], due, sent, warmup, finished, finishedOfWarmup, failed };
        for (const [name, value] of Object.entries(all)) columns[name as keyof typeof all].push(value);
        quantiles.push([p50 * 1000, p95 * 1000, p99 * 1000]);
      }
    }
    return { columns, quantiles };
  }

  /** Returns p50, p95 and p99 of each second in nanoseconds; a negative value is a lower bound, 0 is withheld. */
  get quantiles(): [number, number, number][] {
    void this.version;
    return this.#quantiles;
  }

  /** Returns the latency histogram of each second. */
  get latency(): (Numbers | undefined)[] {
    void this.version;
    return this.#latency;
  }

  /** Returns the histograms of the lower bounds of requests without a response, by second. */
  get atLeast(): (Numbers | undefined)[] {
    void this.version;
    return this.#atLeast;
  }

  /** Returns the number of failures of each second by kind. */
  get failures(): Record<string, number>[] {
    return this.sorts.map((all) => {
      const kinds: Record<string, number> = {};
      for (const [kind, , , n] of all) kinds[kind] = (kinds[kind] ?? 0) + n;
      return kinds;
    });
  }

  /** Returns the failures of each second by kind, phase and errno. */
  get sorts(): Sort[][] {
    void this.version;
    return this.#sorts;
  }

  /** Returns the number of responses of each second by status code. */
  get codes(): Record<string, number>[] {
    void this.version;
    return this.#codes;
  }

  /** Returns for each second the figures of each flow, in the order of `FLOW`. */
  get flows(): number[][][] {
    void this.version;
    return this.#flows;
  }

  /** Returns for each second the results of the checks: index, passed, failed. */
  get checks(): [number, number, number][][] {
    void this.version;
    return this.#checks;
  }

  get parts(): PartsBlock[] {
    void this.version;
    return this.#parts;
  }

  /** Returns the start of the window in milliseconds since 1970; null if it was not recorded. */
  get began(): number | null {
    void this.version;
    return this.#began;
  }

  get blocks(): Block[] {
    void this.version;
    return this.#blocks;
  }

  get hosts(): Map<string, Map<string, Counter>> {
    void this.version;
    return this.#hosts;
  }

  /** Returns the times of a host's readings, in seconds. */
  readingsAt(host: string): number[] {
    void this.version;
    return this.#readings.get(host) ?? [];
  }

  /** Adds lines that follow the head; lines of an unknown kind are skipped. */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  add(lines: any[]): void {
    for (const line of lines) {
      if (Array.isArray(line.s)) this.addSecond(line);
      else if (typeof line.n === 'number') this.addBlock(line);
      else if (typeof line.p === 'number') this.#parts.push({ from: line.p, to: line.p + this.head.grain.phases_s, parts: line.r });
      else if (Array.isArray(line.z)) this.#details.push(line.z);
      else if (typeof line.c === 'string') this.addReadings(line);
      else if (typeof line.w === 'number') this.#began = line.w;
      else this.rest.push(line);
    }
    this.version++;
  }

  private addSecond(line: { s: number[]; q: [number, number, number]; h?: Numbers; a?: Numbers; d?: Numbers; u?: Numbers; f?: Sort[]; k?: Record<string, number>; e?: [number, number, number][]; x?: number[][] }): void {
    SECOND.forEach((name, i) => this.#columns[name].push(i < 2 ? line.s[i] / 1000 : line.s[i]));
    this.#quantiles.push(line.q);
    this.#latency.push(line.h);
    this.#atLeast.push(line.a);
    this.#delayed.push(line.d);
    this.#undelayed.push(line.u);
    this.#sorts.push(line.f ?? []);
    this.#codes.push(line.k ?? {});
    this.#flows.push(line.x ?? []);
    this.#checks.push(line.e ?? []);
  }

  private addBlock(line: { n: number; r: NamedRow[] }): void {
    this.#blocks.push({ from: line.n, to: line.n + this.head.grain.block_s, rows: line.r });
  }

  private addReadings(line: { c: string; t: number; v?: Record<string, number | null>; o?: Record<string, number | null> }): void {
    let host = this.#hosts.get(line.c);
    if (!host) this.#hosts.set(line.c, (host = new Map()));
    for (const [told, coarse] of [[line.v, false], [line.o, true]] as const) {
      for (const [name, value] of Object.entries(told ?? {})) {
        let counter = host.get(name);
        if (!counter) host.set(name, (counter = { name, at: [], value: [], coarse }));
        counter.at.push(line.t / 1000);
        counter.value.push(value);
      }
    }
    let at = this.#readings.get(line.c);
    if (!at) this.#readings.set(line.c, (at = []));
    at.push(line.t / 1000);
  }

  get isOpen(): boolean {
    return this.head.report.mode === 'open';
  }

  /** Returns the interval from the start of the first second to the end of the last one. */
  get extent(): Span {
    void this.version;
    const { from, to } = this.#columns;
    return { from: from[0] ?? 0, to: to[to.length - 1] ?? 1 };
  }

  /** Returns the range of seconds that lie within a span, as indices; the end is exclusive. */
  within(span: Span | null): [number, number] {
    const { length } = this;
    if (!span) return [0, length];
    const { from, to } = this.#columns;
    let first = 0;
    while (first < length && from[first] < span.from - 1e-6) first++;
    let end = first;
    while (end < length && to[end] <= span.to + 1e-6) end++;
    return [first, end];
  }

  /** Returns the merged latency of a span; seconds of the warm-up have none. */
  ranked(span: Span | null): Ranked {
    return this.rankedOf(...this.within(span));
  }

  /** Like `ranked`, for the seconds with indices from `first` to `end`, exclusive. */
  rankedOf(first: number, end: number): Ranked {
    const ranked = Ranked.empty(this.head.grain.buckets);
    for (let i = first; i < end; i++) ranked.add(this.#latency[i], this.#atLeast[i], this.#delayed[i], this.#undelayed[i]);
    return ranked;
  }

  /** Returns the sum of a column over a span, without the warm-up. */
  sum(column: Column, span: Span | null, part?: number): number {
    const [first, end] = this.within(span);
    let sum = 0;
    for (let i = first; i < end; i++) {
      const p = this.#columns.part[i];
      if (p !== WARMUP && (part === undefined || p === part)) sum += this.#columns[column][i];
    }
    return sum;
  }

  /** Returns the length of the window within a span in seconds, by which rates are divided. */
  windowLength(span: Span | null): number {
    const [first, end] = this.within(span);
    let length = 0;
    for (let i = first; i < end; i++) {
      if (this.#columns.part[i] === WINDOW) length += this.#columns.to[i] - this.#columns.from[i];
    }
    return length;
  }
}

/** Returns the principal latency of a run: response time under open load, service time under closed load. */
export function headline(head: Head): Dist {
  return head.report.latency.response ?? head.report.latency.service;
}

/** Like `headline`, as histograms at the precision of the record. */
export function headlineRanked(head: Head): Ranked {
  const dist = headline(head);
  return new Ranked(Histogram.of(decoded(dist.histogram), 8), Histogram.of(decoded(dist.histogram_at_least), 8));
}

/** Returns a quantile of a distribution in the report. */
export function quantileOf(dist: Dist, key: string): Quantity {
  const us = dist[`${key}_us`] as number | null;
  const bound = dist[`${key}_at_least_us`] as number | undefined;
  if (bound !== undefined) return { ns: bound * 1000, atLeast: true };
  const quantity: Quantity = { ns: us === null || us === undefined ? null : us * 1000, atLeast: false };
  const band = dist[`${key}_band_us`] as [number, number] | undefined;
  const grade = dist[`${key}_grade`] as 'warn' | 'fail' | undefined;
  return band && grade ? { ...quantity, band: [band[0] * 1000, band[1] * 1000], grade } : quantity;
}

/** Returns the tone of a quantity: one that is used with caution, or shown as its band, is not as sure as it looks. */
export const toneOf = ({ grade }: Quantity): string => (grade === 'fail' ? 'bad' : grade === 'warn' ? 'warn' : '');

/** Returns the confidence interval of a quantile in nanoseconds; null if there is none. */
export function intervalOf(dist: Dist, key: string): [number | null, number | null] | null {
  const ends = dist[`${key}_ci_us`] as [number | null, number | null] | null | undefined;
  return ends ? [ends[0] === null ? null : ends[0] * 1000, ends[1] === null ? null : ends[1] * 1000] : null;
}

/** Parses the runs in a report's lines. */
export function runsOf(text: string): Run[] {
  const runs: Run[] = [];
  let lines: object[] = [];
  const begin = (head: Head | null): void => {
    runs[runs.length - 1]?.add(lines);
    lines = [];
    if (head) runs.push(new Run(head));
  };
  let at = 0;
  while (at < text.length) {
    const end = text.indexOf('\n', at);
    const line = text.slice(at, end < 0 ? text.length : end);
    at = end < 0 ? text.length : end + 1;
    if (!line) continue;
    const value = JSON.parse(line);
    if (value.run) begin(value);
    else lines.push(value);
  }
  begin(null);
  return runs;
}
