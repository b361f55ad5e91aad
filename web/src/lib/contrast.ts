// Differences of runs from the first one. They are computed by `crates/report/src/comparison.rs` and only shown here,
// so that the page, the console, text and JSON agree about the same pair.

import { rate, duration, WITHHELD } from './format';
import { say } from './i18n';
import { W } from './words';

export interface Contrast {
  name: 'throughput_per_s' | 'p50_us' | 'p95_us' | 'p99_us' | 'failed_share';
  more_is_better: boolean;
  /** Minimum relevant change: relative to the first figure, or an absolute difference for shares. */
  matters: number;
  is_share: boolean;
  /**
   * The latency of a percentile; service time if one run has a rate and the other one users; null for other figures.
   */
  latency: 'response' | 'service' | null;
  values: [number | null, number | null];
  /** The bands of both values: the ends that hold them whatever part is brunt's own; null if they are equal. */
  bands?: [[number, number] | null, [number, number] | null];
  change: number | null;
  /** Confidence interval of the change; an upper end of null is infinite. */
  interval: [number, number | null] | null;
  verdict: 'better' | 'same' | 'worse' | 'cannot_tell';
}

/** A run compared with the first one. */
export interface Against {
  /** False if one of the two is in doubt for a reason without a size, so that no verdict is given. */
  trusted: boolean;
  differs: string[];
  figures: Contrast[];
}

/** Returns the differences of each further run from the first one; empty for a page with a single run. */
export function againstOf(text: string): Against[] {
  const end = text.indexOf('\n');
  const first = end < 0 ? text : text.slice(0, end);
  return first.startsWith('{"compared"') ? (JSON.parse(first).compared as Against[]) : [];
}

/** Returns the name of a figure; for a percentile, with the kind of latency. */
export function calledOf(one: Contrast, lang: 'en' | 'zh'): string {
  const name = say(W.metric[one.name], lang);
  return one.latency ? say(one.latency === 'service' ? W.ofService : W.ofResponse, lang, { name }) : name;
}

/** Lower end of a band, as a share of the upper one, up to which the figure is shown as its band. */
const UNTRUSTED = 0.7;

/** Formats a figure of the first run (0) or of the other one (1). */
export function figureOf(one: Contrast, of: 0 | 1): string {
  const value = one.values[of];
  if (value === null) return WITHHELD;
  if (one.is_share) return `${(value * 100).toFixed(2)} %`;
  if (one.name !== 'throughput_per_s') return duration(value * 1000);
  const band = one.bands?.[of];
  return band && band[0] <= UNTRUSTED * band[1] ? `${rate(band[0])} … ${rate(band[1])}/s` : `${rate(value)}/s`;
}

function signed(value: number, digits: number): string {
  const text = Math.abs(value).toFixed(digits);
  return (Number(text) === 0 ? '' : value > 0 ? '+' : '−') + text;
}

/**
 * Formats a change or an end of its interval: in percentage points for shares, otherwise in percent of the first
 * figure.
 */
export function changeOf(one: Contrast, change: number | null, lang: 'en' | 'zh'): string {
  if (change === null) return WITHHELD;
  return one.is_share ? say(W.points, lang, { n: signed(change * 100, 2) }) : `${signed((change - 1) * 100, 1)} %`;
}

export function intervalOf(one: Contrast, lang: 'en' | 'zh'): string {
  return one.interval ? one.interval.map((end) => (end === null ? '∞' : changeOf(one, end, lang))).join(' … ') : WITHHELD;
}

/** Signs next to the words, so that a verdict does not depend on colour alone. */
export const SIGNS = { better: '▲', same: '=', worse: '▼', cannot_tell: '?' } as const;
