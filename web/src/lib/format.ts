// Formatting of numbers for people, as in `crates/measure/src/format.rs` and `crates/i18n/src/show.rs`: three digits
// and a unit, and only zero is shown as zero.

import type { Quantity } from './histogram';

/** Placeholder of a withheld figure. */
export const WITHHELD = '–';

function threeDigits(value: number): string {
  const size = Math.abs(value);
  return size < 9.995 ? value.toFixed(2) : size < 99.95 ? value.toFixed(1) : value.toFixed(0);
}

function scaled(value: number, units: readonly string[]): string {
  let rest = value;
  for (const unit of units.slice(0, -1)) {
    if (Math.abs(rest) < 999.5) return `${threeDigits(rest)} ${unit}`;
    rest /= 1000;
  }
  return `${threeDigits(rest)} ${units[units.length - 1]}`;
}

/** Formats a time in nanoseconds: `456 µs`, `1.23 ms`, `2.10 s`. */
export function duration(ns: number | null | undefined): string {
  if (ns === null || ns === undefined || !Number.isFinite(ns)) return WITHHELD;
  return Math.abs(ns) < 1000 ? `${Math.round(ns)} ns` : scaled(ns / 1e3, ['µs', 'ms', 's']);
}

/** Formats a range: `2.10 … 6.60 ms`; the unit is written once if both ends have it. */
export function between([low, high]: [string, string]): string {
  const [number, unit] = low.split(' ');
  return `${high.endsWith(` ${unit}`) ? number : low} … ${high}`;
}

/** Formats a latency as far as it is known: `1.23 ms`, `≥ 4.00 s`, `2.10 … 6.60 ms`, `–`. */
export function quantity(of: Quantity): string {
  if (of.band && of.grade === 'fail') return between(of.band.map((end) => duration(end)) as [string, string]);
  return of.ns === null ? WITHHELD : (of.atLeast ? '≥ ' : '') + duration(of.ns);
}

/** Formats a count with grouped thousands: `45,213`. */
export function count(n: number | null | undefined): string {
  if (n === null || n === undefined || !Number.isFinite(n)) return WITHHELD;
  return Math.round(n).toString().replace(/\B(?=(\d{3})+(?!\d))/g, ',');
}

/** Formats events per second, without a unit: `0.250`, `12.3`, `4,998`. */
export function rate(perS: number | null | undefined): string {
  if (perS === null || perS === undefined || !Number.isFinite(perS)) return WITHHELD;
  if (perS === 0) return '0';
  if (Math.abs(perS) < 0.9995) return perS.toFixed(3);
  return Math.abs(perS) < 999.5 ? threeDigits(perS) : count(perS);
}

/** Formats the rates of all parts of a whole, rounded so that they add up to the rate of the whole as it is shown; those of some parts, one by one. */
export function ratesOf(whole: number, parts: readonly number[]): string[] {
  const decimals = rate(whole).split('.')[1]?.length ?? 0;
  const scale = 10 ** decimals;
  const sum = parts.reduce((all, part) => all + part, 0);
  const units = parts.map((part) => Math.floor(part * scale + 1e-9));
  if (Math.abs(sum - whole) >= 0.5 / scale || units.some((n, i) => n < 1 && parts[i] > 0)) return parts.map(rate);
  const missing = Math.round(whole * scale) - units.reduce((all, n) => all + n, 0);
  const order = parts.map((part, i) => [part * scale - units[i], i]).sort((a, b) => b[0] - a[0] || a[1] - b[1]);
  for (const [, i] of order.slice(0, Math.max(missing, 0))) units[i] += 1;
  return units.map((n) => (decimals ? (n / scale).toFixed(decimals) : count(n)));
}

/** Formats bytes in powers of 1000: `512 B`, `1.50 kB`. */
export function bytes(n: number | null | undefined): string {
  if (n === null || n === undefined || !Number.isFinite(n)) return WITHHELD;
  return Math.abs(n) < 1000 ? `${Math.round(n)} B` : scaled(n / 1e3, ['kB', 'MB', 'GB', 'TB', 'PB']);
}

/** Formats a count as a share: `0 %`, `<0.01 %`, `12.3 %`, `>99.99 %`. */
export function percent(part: number, whole: number): string {
  if (whole === 0 || part === 0) return '0 %';
  if (part === whole) return '100 %';
  const share = (part / whole) * 100;
  if (share < 0.01) return '<0.01 %';
  if (share > 99.99) return '>99.99 %';
  return share < 1 || share > 99 ? `${share.toFixed(2)} %` : `${share.toFixed(1)} %`;
}

/** Formats a time of a run in seconds: `1:05`, `-0:02`, `1:02:03`; optionally with tenths. */
export function clock(seconds: number, tenths = false): string {
  const sign = seconds < 0 ? '-' : '';
  const size = Math.abs(seconds);
  const whole = Math.floor(size + (tenths ? 1e-9 : 0.5));
  const two = (n: number): string => n.toString().padStart(2, '0');
  const hours = Math.floor(whole / 3600);
  const minutes = Math.floor(whole / 60) % 60;
  const rest = tenths ? `.${Math.floor((size - whole) * 10 + 1e-6)}` : '';
  const clock = hours > 0 ? `${hours}:${two(minutes)}:${two(whole % 60)}` : `${minutes}:${two(whole % 60)}`;
  return sign + clock + rest;
}

/** Formats a time of day in the reader's time zone: `14:05:33`. */
export function wallClock(ms: number): string {
  const at = new Date(ms + 0.5);
  return [at.getHours(), at.getMinutes(), at.getSeconds()].map((n) => n.toString().padStart(2, '0')).join(':');
}

/** Formats a moment in milliseconds since 1970: `2026-11-28 14:05:33 UTC`. */
export function moment(ms: number): string {
  return `${new Date(ms).toISOString().replace('T', ' ').slice(0, 19)} UTC`;
}

/** Formats the offset of the reader's time zone: `UTC+8`, `UTC-3:30`. */
export function zone(ms: number): string {
  const minutes = -new Date(ms).getTimezoneOffset();
  const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
  return minutes === 0 ? 'UTC' : `UTC${minutes < 0 ? '-' : '+'}${hours}${rest ? `:${rest.toString().padStart(2, '0')}` : ''}`;
}

/** Formats a plain number for axes, without trailing zeros. */
export function plain(value: number): string {
  const size = Math.abs(value);
  if (size >= 1e9) return `${trimmed(value / 1e9)}G`;
  if (size >= 1e6) return `${trimmed(value / 1e6)}M`;
  if (size >= 1e4) return `${trimmed(value / 1e3)}k`;
  return size >= 1 || size === 0 ? trimmed(value) : value.toPrecision(2).replace(/\.?0+$/, '');
}

function trimmed(value: number): string {
  return value.toFixed(2).replace(/\.?0+$/, '');
}

/** Formats a time in nanoseconds on an axis: `5 ms`, `2.5 s`. */
export function axisDuration(ns: number): string {
  if (ns === 0) return '0';
  const size = Math.abs(ns);
  if (size < 1e3) return `${trimmed(ns)} ns`;
  if (size < 1e6) return `${trimmed(ns / 1e3)} µs`;
  return size < 1e9 ? `${trimmed(ns / 1e6)} ms` : `${trimmed(ns / 1e9)} s`;
}

/** Unit of a figure, which determines its format. */
export type Unit = 'count' | 'rate' | 'ns' | 'bytes' | 'bytes/s' | 'cores' | 'percent' | 'number';

/** Formats a figure by its unit. */
export function shown(value: number | null | undefined, unit: Unit): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return WITHHELD;
  switch (unit) {
    case 'ns':
      return duration(value);
    case 'bytes':
      return bytes(value);
    case 'bytes/s':
      return `${bytes(value)}/s`;
    case 'count':
      return count(value);
    case 'rate':
      return `${rate(value)}/s`;
    case 'percent':
      return value === 0 ? '0 %' : `${threeDigits(value)} %`;
    case 'cores':
      return value.toFixed(2);
    default:
      return Math.abs(value) >= 1000 ? count(value) : trimmed(value);
  }
}

/** Like `shown`, in the short form of axes. */
export function onAxis(value: number, unit: Unit): string {
  switch (unit) {
    case 'ns':
      return axisDuration(value);
    case 'bytes':
    case 'bytes/s':
      return value === 0 ? '0' : bytes(value).replace(/(\.\d*?)0+ /, (_, digits: string) => (digits === '.' ? ' ' : `${digits} `));
    case 'percent':
      return `${trimmed(value)} %`;
    default:
      return plain(value);
  }
}
