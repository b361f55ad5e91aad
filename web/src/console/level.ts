// A level of load: as typed during a run, in the grammar of plans (`quantity` in `crates/plan`), and as planned.

export type Level = { rate: number } | { users: number };

const UNITS: Record<string, number> = { '': 1, s: 1, sec: 1, second: 1, m: 60, min: 60, minute: 60, h: 3600, hour: 3600 };

/** `150`, `150/s`, `9000/min`, `1k/s`; `_` between digits. */
export function levelOf(text: string, open: boolean): Level | null {
  const [, digits, factor, unit] = /^\s*([\d._]+)([kKM]?)\s*(?:\/\s*(\w+))?\s*$/.exec(text) ?? [];
  if (digits === undefined) return null;
  const amount = Number(digits.replaceAll('_', '') || NaN) * ({ k: 1e3, K: 1e3, M: 1e6 }[factor] ?? 1);
  const seconds = UNITS[unit ?? ''];
  if (!Number.isFinite(amount) || amount <= 0 || seconds === undefined) return null;
  if (open) return { rate: amount / seconds };
  return unit === undefined && Number.isInteger(amount) ? { users: amount } : null;
}

/** Returns the level that stages plan at a time, in seconds since the start of the window; null without stages. */
export function plannedLevel(stages: readonly { lasts: number; from: number; to: number }[], at: number): number | null {
  let begins = 0;
  for (const { lasts, from, to } of stages) {
    const length = lasts / 1e9;
    if (at < begins + length) return from + (to - from) * Math.max(0, (at - begins) / length);
    begins += length;
  }
  return stages[stages.length - 1]?.to ?? null;
}
