// How runs differ from the first of them: worked out where the record is (`crates/report/src/comparison.rs`), and only drawn here, so that the page, the
// console, text and JSON say the same word of the same pair.

import { rate, duration, WITHHELD } from './format';
import { say } from './i18n';
import { W } from './words';

export interface Contrast {
  name: 'throughput_per_s' | 'p50_us' | 'p95_us' | 'p99_us' | 'failed_share';
  more_is_better: boolean;
  /** A change that matters: a share of the first figure, or of shares a difference. */
  matters: number;
  is_share: boolean;
  /** Which latency a percentile is of: of a run with a rate and one with users, service of both; null: not of latency. */
  latency: 'response' | 'service' | null;
  values: [number | null, number | null];
  change: number | null;
  /** Without an upper end (null) it is infinite. */
  interval: [number, number | null] | null;
  verdict: 'better' | 'same' | 'worse' | 'cannot_tell';
}

/** A run held against the first. */
export interface Against {
  trusted: boolean;
  differs: string[];
  figures: Contrast[];
}

/** How each run of a page but the first differs from that; nothing on a page of one. */
export function againstOf(text: string): Against[] {
  const end = text.indexOf('\n');
  const first = end < 0 ? text : text.slice(0, end);
  return first.startsWith('{"compared"') ? (JSON.parse(first).compared as Against[]) : [];
}

/** What a figure is called, a percentile with the latency it is of. */
export function calledOf(one: Contrast, lang: 'en' | 'zh'): string {
  const name = say(W.metric[one.name], lang);
  return one.latency ? say(one.latency === 'service' ? W.ofService : W.ofResponse, lang, { name }) : name;
}

/** A figure of the first run (0) or of the other (1). */
export function figureOf(one: Contrast, of: 0 | 1): string {
  const value = one.values[of];
  if (value === null) return WITHHELD;
  if (one.is_share) return `${(value * 100).toFixed(2)} %`;
  return one.name === 'throughput_per_s' ? `${rate(value)}/s` : duration(value * 1000);
}

function signed(value: number, digits: number): string {
  const text = Math.abs(value).toFixed(digits);
  return (Number(text) === 0 ? '' : value > 0 ? '+' : '−') + text;
}

/** A change, or an end of its interval: of shares in percentage points, else in per cent of the first figure. */
export function changeOf(one: Contrast, change: number | null, lang: 'en' | 'zh'): string {
  if (change === null) return WITHHELD;
  return one.is_share ? say(W.points, lang, { n: signed(change * 100, 2) }) : `${signed((change - 1) * 100, 1)} %`;
}

export function intervalOf(one: Contrast, lang: 'en' | 'zh'): string {
  return one.interval ? one.interval.map((end) => (end === null ? '∞' : changeOf(one, end, lang))).join(' … ') : WITHHELD;
}

/** Signs beside the words: whoever cannot tell colours apart sees them. */
export const SIGNS = { better: '▲', same: '=', worse: '▼', cannot_tell: '?' } as const;
