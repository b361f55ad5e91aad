// A run as pages draw it, put together line by line: the packed lines of a report, or those of a run that goes on.
// `crates/report/src/formats/html` writes them and says what each is.

import { Histogram, Ranked, decoded, type Numbers, type Quantity } from './histogram';

/** The columns of a second, in the order of its line. Times of a run are in seconds here, since the start of its window. */
export const SECOND = [
  'from', 'to', 'part', 'due', 'sent', 'finished', 'failed', 'censored', 'finishedOfWarmup', 'warmup', 'users',
  'inFlight', 'waiting', 'bytesSent', 'bytesReceived', 'opened', 'openFailed', 'lost', 'open', 'cpuUs', 'busiestUs',
] as const;
export type Column = (typeof SECOND)[number];

export const WARMUP = 0;
export const WINDOW = 1;
export const DRAIN = 2;

/** A part of a run, in seconds since the start of its window. */
export interface Span {
  from: number;
  to: number;
}

/** Something that happened at a moment. */
export interface Mark {
  at: number;
  kind: 'stage' | 'change' | 'notice' | 'warmup' | 'drain';
  text: { en: string; zh: string };
}

/** What a block of seconds held of a name: `[name, scheduled, succeeded, failed, unfinished, succeeded within the window, payload, latency, bounds, dropped]`. */
export type NamedRow = [number, number, number, number, number, number, number, Numbers, Numbers, number?, number?];

/** What a second has of a flow, in the order of its line; of several each has a row. */
export const FLOW = ['users', 'due', 'finished', 'failed', 'started', 'succeeded', 'unsuccessful', 'dropped', 'usersMs'] as const;
export type FlowColumn = (typeof FLOW)[number];

/** A failure of a second: kind, phase, errno, how many. */
export type Sort = [string, string, string | null, number];

/** The parts of requests in a block of seconds, as histograms by their names in the report. */
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

/** A counter of a host: where it was read, and what it read; null: it could not be read. */
export interface Counter {
  name: string;
  at: number[];
  value: (number | null)[];
  /** It is told less often than its host is read. */
  coarse: boolean;
}

export interface Words {
  target: string | null;
  load: string[];
  machinery: string | null;
  first_answer: string | null;
  probed: string[];
  verdict: string;
  line: string;
  exit: string;
  reasons: string[];
  objectives: string[];
  limits: { claim: string; details: string[] }[];
  pages: { rule: string; title: string; paragraphs: string[] }[];
  notices: string[];
  changes: string[];
  heading: string;
  ranked: string;
  throughput: string[];
  account: string;
  apart: string[];
  failures: { sort: string; advice: string | null; detail: string | null }[];
  connections: string[];
}

/** A distribution as the JSON report has it; times in microseconds. */
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

/** The head of a run's lines. The report in it is the one that `brunt report --format json` writes. */
export interface Head {
  run: number;
  name: string;
  // The schema of the report is `docs/schema/report.json`; a page reads what it shows of it.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  report: any;
  percentiles: [number, number | null, boolean, [number | null, number | null] | null][];
  only_holds: boolean;
  names: string[];
  groups: string[];
  /** Flows by the names of their scenarios; null: the one flow of a run without. */
  flows: (string | null)[];
  /** The run goes on: its report has no figures yet. */
  live: boolean;
  grain: { buckets: number; names: number; block_s: number; phases: number; phases_s: number; coarse: number };
  hosts: Record<string, { readings: number; coarse: number }>;
  words: { en: Words; zh: Words };
}

export class Run {
  head: Head;
  readonly #columns = Object.fromEntries(SECOND.map((name) => [name, []])) as unknown as Record<Column, number[]>;
  readonly #quantiles: [number, number, number][] = [];
  readonly #latency: (Numbers | undefined)[] = [];
  readonly #atLeast: (Numbers | undefined)[] = [];
  readonly #sorts: Sort[][] = [];
  readonly #codes: Record<string, number>[] = [];
  readonly #flows: number[][][] = [];
  readonly #checks: [number, number, number][][] = [];
  readonly #parts: PartsBlock[] = [];
  #began: number | null = null;
  readonly #blocks: Block[] = [];
  readonly #hosts = new Map<string, Map<string, Counter>>();
  readonly #readings = new Map<string, number[]>();
  /** Moves when lines were taken: what reads a run is told anew. The arrays grow in place. */
  version = $state(0);

  constructor(head: Head) {
    this.head = head;
    // Every host a run has heard of has its place, in the order of the head.
    for (const host of Object.keys(head.hosts)) this.#hosts.set(host, new Map());
  }

  get length(): number {
    void this.version;
    return this.#quantiles.length;
  }

  /** The columns of its seconds. */
  get columns(): Record<Column, number[]> {
    void this.version;
    return { ...this.#columns };
  }

  /** p50, p95 and p99 of each second in nanoseconds; negative: at least that; 0: withheld. */
  get quantiles(): [number, number, number][] {
    void this.version;
    return this.#quantiles;
  }

  /** The histogram of each second. */
  get latency(): (Numbers | undefined)[] {
    void this.version;
    return this.#latency;
  }

  /** Lower bounds of requests without a response. */
  get atLeast(): (Numbers | undefined)[] {
    void this.version;
    return this.#atLeast;
  }

  /** Failures of each second by kind. */
  get failures(): Record<string, number>[] {
    return this.sorts.map((all) => {
      const kinds: Record<string, number> = {};
      for (const [kind, , , n] of all) kinds[kind] = (kinds[kind] ?? 0) + n;
      return kinds;
    });
  }

  /** Failures of each second by kind, phase and errno. */
  get sorts(): Sort[][] {
    void this.version;
    return this.#sorts;
  }

  /** Codes of status of each second. */
  get codes(): Record<string, number>[] {
    void this.version;
    return this.#codes;
  }

  /** Of each second what each flow had of it, in the order of `FLOW`. */
  get flows(): number[][][] {
    void this.version;
    return this.#flows;
  }

  /** Of each second what checks came to: which, passed, failed. */
  get checks(): [number, number, number][][] {
    void this.version;
    return this.#checks;
  }

  get parts(): PartsBlock[] {
    void this.version;
    return this.#parts;
  }

  /** When the window began, in milliseconds since 1970; null: nobody wrote it down. */
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

  /** When the counters of a host were read. */
  readingsAt(host: string): number[] {
    void this.version;
    return this.#readings.get(host) ?? [];
  }

  /** Takes lines behind the head; one of a kind that this page does not know is gone past. */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  add(lines: any[]): void {
    for (const line of lines) {
      if (Array.isArray(line.s)) this.addSecond(line);
      else if (typeof line.n === 'number') this.addBlock(line);
      else if (typeof line.p === 'number') this.#parts.push({ from: line.p, to: line.p + this.head.grain.phases_s, parts: line.r });
      else if (typeof line.c === 'string') this.addReadings(line);
      else if (typeof line.w === 'number') this.#began = line.w;
    }
    this.version++;
  }

  private addSecond(line: { s: number[]; q: [number, number, number]; h?: Numbers; a?: Numbers; f?: Sort[]; k?: Record<string, number>; e?: [number, number, number][]; x?: number[][] }): void {
    SECOND.forEach((name, i) => this.#columns[name].push(i < 2 ? line.s[i] / 1000 : line.s[i]));
    this.#quantiles.push(line.q);
    this.#latency.push(line.h);
    this.#atLeast.push(line.a);
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

  /** From the first second to the end of the last. */
  get extent(): Span {
    void this.version;
    const { from, to } = this.#columns;
    return { from: from[0] ?? 0, to: to[to.length - 1] ?? 1 };
  }

  /** The seconds of a span, as indices: those that lie in it. */
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

  /** The latency of these seconds, merged: warm-up seconds have none. */
  ranked(span: Span | null): Ranked {
    return this.rankedOf(...this.within(span));
  }

  /** The same of seconds by their indices, `end` left out. */
  rankedOf(first: number, end: number): Ranked {
    const grouping = this.head.grain.buckets;
    const [finished, atLeast] = [new Histogram(grouping), new Histogram(grouping)];
    for (let i = first; i < end; i++) {
      const [h, a] = [this.#latency[i], this.#atLeast[i]];
      if (h) finished.add(h);
      if (a) atLeast.add(a);
    }
    return new Ranked(finished, atLeast);
  }

  /** The sum of a column over a span; of the warm-up nothing counts. */
  sum(column: Column, span: Span | null, part?: number): number {
    const [first, end] = this.within(span);
    let sum = 0;
    for (let i = first; i < end; i++) {
      const p = this.#columns.part[i];
      if (p !== WARMUP && (part === undefined || p === part)) sum += this.#columns[column][i];
    }
    return sum;
  }

  /** Seconds of the window within a span: what rates are divided by. */
  windowLength(span: Span | null): number {
    const [first, end] = this.within(span);
    let length = 0;
    for (let i = first; i < end; i++) {
      if (this.#columns.part[i] === WINDOW) length += this.#columns.to[i] - this.#columns.from[i];
    }
    return length;
  }
}

/** The latency a run stands for: response in open load, service in closed. */
export function headline(head: Head): Dist {
  return head.report.latency.response ?? head.report.latency.service;
}

/** The same with its histograms, at the precision of the record. */
export function headlineRanked(head: Head): Ranked {
  const dist = headline(head);
  return new Ranked(Histogram.of(decoded(dist.histogram), 8), Histogram.of(decoded(dist.histogram_at_least), 8));
}

/** A quantile of a distribution of the report. */
export function quantileOf(dist: Dist, key: string): Quantity {
  const us = dist[`${key}_us`] as number | null;
  const bound = dist[`${key}_at_least_us`] as number | undefined;
  return bound !== undefined ? { ns: bound * 1000, atLeast: true } : { ns: us === null || us === undefined ? null : us * 1000, atLeast: false };
}

/** Its interval in nanoseconds; null where there is none. */
export function intervalOf(dist: Dist, key: string): [number | null, number | null] | null {
  const ends = dist[`${key}_ci_us`] as [number | null, number | null] | null | undefined;
  return ends ? [ends[0] === null ? null : ends[0] * 1000, ends[1] === null ? null : ends[1] * 1000] : null;
}

/** The runs of a report's lines. */
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
