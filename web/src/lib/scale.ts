// Axes with round ticks.

import { clock } from './format';

/** Returns about `about` round ticks of a linear axis from `from` to `to`. */
export function linearTicks(from: number, to: number, about: number): number[] {
  const range = to - from;
  if (!(range > 0)) return [from];
  const rough = range / Math.max(about, 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 2.5, 5, 10].find((m) => m * power >= rough * 0.999) ?? 10);
  const ticks: number[] = [];
  for (let i = Math.ceil(from / step - 1e-9) || 0; i * step <= to + step * 1e-9; i++) ticks.push(i * step);
  return ticks;
}

/** Returns the ticks of a logarithmic axis: powers of ten, and their multiples by 2 and 5 if there is enough space. */
export function logTicks(from: number, to: number, about: number): number[] {
  const decades = Math.log10(to / from);
  const between = decades <= about / 3 ? [1, 2, 5] : decades <= about / 2 ? [1, 3] : [1];
  const ticks: number[] = [];
  for (let power = Math.floor(Math.log10(from)); power <= Math.ceil(Math.log10(to)); power++) {
    for (const m of between) {
      const tick = m * 10 ** power;
      if (tick >= from * 0.999 && tick <= to * 1.001) ticks.push(tick);
    }
  }
  // A single label does not show the scale.
  if (ticks.length < 2 && to > from) return to / from < 1.02 ? [from] : [from, to];
  return ticks;
}

const STEPS = [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 900, 1200, 1800, 3600, 7200, 14400];

/** Returns the ticks of an axis of seconds. */
export function timeTicks(from: number, to: number, about: number): number[] {
  const step = STEPS.find((s) => (to - from) / s <= about) ?? STEPS[STEPS.length - 1];
  const ticks: number[] = [];
  for (let i = Math.ceil(from / step - 1e-9) || 0; i * step <= to + 1e-9; i++) ticks.push(i * step);
  return ticks;
}

/** Returns the labels of such ticks, with tenths if two of them would otherwise have the same label. */
export function timeLabels(ticks: readonly number[]): string[] {
  const tenths = ticks.some((tick) => Math.abs(tick - Math.round(tick)) > 1e-6);
  return ticks.map((tick) => clock(tick, tenths));
}

/** Returns the end of an axis that begins at zero: slightly above the maximum. */
export function niceMax(most: number): number {
  if (!(most > 0)) return 1;
  const ticks = linearTicks(0, most, 4);
  const step = ticks.length > 1 ? ticks[1] - ticks[0] : most;
  return Math.ceil((most * 1.02) / step) * step;
}
