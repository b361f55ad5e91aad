// Axes of any unit: where a value stands, and which ticks with which labels show that.

import { clock, count, duration, onAxis, plain, rate, shown, WITHHELD } from '../lib/format';
import { linearTicks, logTicks, niceMax, timeLabels, timeTicks } from '../lib/scale';
import type { Axis } from './page';

export interface Tick {
  value: number;
  label: string;
}

/** A scale: from a value to a place between 0 and 1. */
export interface Scale {
  place: (value: number) => number;
  ticks: Tick[];
  /** Part of the scale that each value has for itself; null if the scale is continuous. */
  band: number | null;
}

/** How far a continuous scale reaches beyond its values. */
export type Reach = 'zero' | 'fitting' | 'values';

/** Formats a value in full, with its unit. */
export function shownOn(axis: Axis, value: number | null): string {
  if (value === null || !Number.isFinite(value)) return WITHHELD;
  switch (axis.unit) {
    case 'users':
      return count(value);
    case 'per_second':
      return `${rate(value)}/s`;
    case 'micros':
      return duration(value * 1000);
    case 'share':
      return shown(value * 100, 'percent');
    case 'elapsed':
      return clock(value);
    case 'moment':
      return `${dated(new Date(value), true)} ${timed(new Date(value))}`;
    case 'names':
      return axis.names?.[value] ?? WITHHELD;
    default:
      return shown(value, 'number');
  }
}

/** Formats the values of ticks, as short as they remain distinct. */
export function tickLabels(axis: Axis, ticks: readonly number[]): string[] {
  switch (axis.unit) {
    case 'per_second':
      return ticks.map((tick) => (tick === 0 ? '0' : `${plain(tick)}/s`));
    case 'micros':
      return ticks.map((tick) => onAxis(tick * 1000, 'ns'));
    case 'share':
      return ticks.map((tick) => onAxis(tick * 100, 'percent'));
    case 'elapsed':
      return timeLabels(ticks);
    case 'moment':
      return momentLabels(ticks);
    case 'names':
      return ticks.map((tick) => axis.names?.[tick] ?? '');
    default:
      return ticks.map(plain);
  }
}

/** Returns a scale on which each of the values has a band of the same width, in ascending order. */
export function bandScale(axis: Axis, values: readonly number[]): Scale {
  const all = axis.unit === 'names' && axis.names?.length ? axis.names.map((_, i) => i) : [...new Set(values)].sort((a, b) => a - b);
  const at = new Map(all.map((value, i) => [value, i]));
  const labels = tickLabels(axis, all);
  const band = 1 / Math.max(all.length, 1);
  return { band, place: (value) => ((at.get(value) ?? 0) + 0.5) * band, ticks: all.map((value, i) => ({ value, label: labels[i] })) };
}

/**
 * Returns a continuous scale that holds the values.
 * @param reach whether it must reach zero, because lengths are compared; reaches it unless what differs would be lost there;
 * or holds the values and nothing else, because they are numbers of things
 * @param about the number of ticks for which there is room
 */
export function scaleOf(axis: Axis, values: readonly number[], reach: Reach, about: number): Scale {
  const known = values.filter(Number.isFinite);
  const isTime = axis.unit === 'elapsed' || axis.unit === 'moment';
  const positive = known.filter((value) => value > 0);
  if (axis.log && !isTime && positive.length) return logScale(axis, positive, about);
  const [low, high] = isTime ? timeEnds(axis, known) : linearEnds(known, reach);
  const ticks = axis.unit === 'moment' ? momentTicks(low, high, about) : axis.unit === 'elapsed' ? timeTicks(low, high, about) : linearTicks(low, high, about);
  const kept = ticks.filter((tick) => tick >= low - 1e-9 && tick <= high + 1e-9 && isTick(axis, known, tick));
  const labels = tickLabels(axis, kept);
  return { band: null, place: (value) => (value - low) / (high - low), ticks: kept.map((value, i) => ({ value, label: labels[i] })) };
}

/** There is no half of a user, and no run between two runs. */
function isTick(axis: Axis, known: readonly number[], tick: number): boolean {
  const whole = axis.unit === 'users' || (axis.unit === 'number' && known.every(Number.isInteger));
  return !whole || Math.abs(tick - Math.round(tick)) < 1e-9;
}

function logScale(axis: Axis, positive: readonly number[], about: number): Scale {
  const [least, most] = [Math.min(...positive), Math.max(...positive)];
  const margin = least === most ? 2 : (most / least) ** 0.06;
  const [low, high] = [least / margin, most * margin];
  const distinct = [...new Set(positive)].sort((a, b) => a - b);
  const ticks = logTicksOf(axis, distinct, [low, high], about).filter((tick) => isTick(axis, positive, tick));
  const labels = tickLabels(axis, ticks);
  const place = (value: number): number => Math.log(Math.max(value, low) / low) / Math.log(high / low);
  return { band: null, place, ticks: ticks.map((value, i) => ({ value, label: labels[i] })) };
}

/** Loads that were chosen say more than powers of ten, of which few decades have too few. */
function logTicksOf(axis: Axis, distinct: readonly number[], [low, high]: [number, number], about: number): readonly number[] {
  if (distinct.length <= about && axis.unit === 'users') return distinct;
  const round = logTicks(low, high, about);
  return round.length > 2 || high / low > 10 ? round : linearTicks(low, high, about);
}

function linearEnds(known: readonly number[], reach: Reach): [number, number] {
  const [least, most] = [Math.min(...known, ...(reach === 'zero' ? [0] : [])), Math.max(...known, ...(reach === 'zero' ? [0] : []))];
  if (!Number.isFinite(least)) return [0, 1];
  if (reach === 'values') return least === most ? [least - 1, most + 1] : [least, most];
  if (least >= 0 && (least <= 0.6 * most || least === most)) return [0, niceMax(most)];
  if (most <= 0 && (reach === 'zero' || least === most)) return [-niceMax(-least), 0];
  const margin = 0.08 * (most - least);
  return [least - margin, most + margin];
}

function timeEnds(axis: Axis, known: readonly number[]): [number, number] {
  const [least, most] = [Math.min(...known), Math.max(...known)];
  if (!Number.isFinite(least)) return [0, 1];
  if (axis.unit === 'elapsed') return [Math.min(0, least), Math.max(most, least + 1)];
  return least === most ? [least - 43_200_000, most + 43_200_000] : [least - 0.02 * (most - least), most + 0.02 * (most - least)];
}

const [SECOND, MINUTE, HOUR, DAY] = [1000, 60_000, 3_600_000, 86_400_000];
const WITHIN_A_DAY = [1, 5, 15, 30].flatMap((n) => [n * SECOND, n * MINUTE]).concat([1, 2, 3, 6, 12].map((n) => n * HOUR)).sort((a, b) => a - b);
const DAYS = [1, 2, 7, 14];
const MONTHS = [1, 2, 3, 6, 12, 24, 60, 120];

/** Returns about `about` moments at which a clock or a calendar of the reader begins something. */
function momentTicks(from: number, to: number, about: number): number[] {
  const rough = (to - from) / Math.max(about, 1);
  const step = WITHIN_A_DAY.find((one) => one >= rough);
  const day = new Date(new Date(from).setHours(0, 0, 0, 0));
  const ticks: number[] = [];
  const until = (next: (i: number) => number): number[] => {
    for (let i = 0; i < 2000 && next(i) <= to; i++) if (next(i) >= from) ticks.push(next(i));
    return ticks;
  };
  if (step !== undefined) {
    const first = day.getTime() + Math.floor((from - day.getTime()) / step) * step;
    return until((i) => first + i * step);
  }
  const days = DAYS.find((n) => n * DAY >= rough);
  if (days !== undefined) return until((i) => new Date(day.getFullYear(), day.getMonth(), day.getDate() + i * days).getTime());
  const months = MONTHS.find((n) => n * 30.4 * DAY >= rough) ?? 120;
  const years = Math.max(1, months / 12);
  const year = Math.floor(day.getFullYear() / years) * years;
  const month = Math.floor(day.getMonth() / months) * months;
  return until((i) => new Date(year, month + i * months, 1).getTime());
}

const two = (n: number): string => n.toString().padStart(2, '0');

function timed(at: Date): string {
  return `${two(at.getHours())}:${two(at.getMinutes())}${at.getSeconds() ? `:${two(at.getSeconds())}` : ''}`;
}

function dated(at: Date, year: boolean): string {
  return `${year ? `${at.getFullYear()}-` : ''}${two(at.getMonth() + 1)}-${two(at.getDate())}`;
}

/** A time of day where there are several ticks in a day; the date where it is another one than before. */
function momentLabels(ticks: readonly number[]): string[] {
  const dates = ticks.map((tick) => new Date(tick));
  const isMidnight = dates.every((at) => timed(at) === '00:00');
  return dates.map((at, i) => {
    const before = dates[i - 1];
    const date = dated(at, !before || before.getFullYear() !== at.getFullYear());
    if (isMidnight) return date;
    return before && before.toDateString() === at.toDateString() ? timed(at) : `${date} ${timed(at)}`;
  });
}
