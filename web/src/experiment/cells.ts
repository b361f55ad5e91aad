// Tables that come as text: which columns hold numbers, and which number a cell stands for.

import type { Cell } from '../components/types';

const SIGNS: Record<string, number> = { '-': -1, '−': -1 };
/** Units of the same kind, so that `900 µs` sorts before `1.2 ms`. */
const UNITS: Record<string, number> = { ns: 1e-9, µs: 1e-6, ms: 1e-3, s: 1, min: 60, h: 3600, B: 1, kB: 1e3, MB: 1e6, GB: 1e9, '%': 0.01 };
const NUMBER = /^([≥≤<>≈~±]\s?)?([+−-])?(\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?)(?:\s?([^\s\d]+))?$/;
const UNKNOWN = /^[–—?∞-]?$/;

/** Returns the number of a cell: `≥ 1.20 ms`, `+3.5 %`, `12,345/s`; of a range, its beginning; null if it is none. */
export function numberOf(text: string): number | null {
  const [first, end] = text.split(/ … | – /);
  const found = NUMBER.exec(first.trim());
  if (!found) return null;
  // The unit of a range may stand at its end.
  const unit = found[4] ?? NUMBER.exec(end?.trim() ?? '')?.[4] ?? '';
  return (SIGNS[found[2]] ?? 1) * Number(found[3].replaceAll(',', '')) * (UNITS[unit] ?? 1);
}

/** Returns the columns of a table whose first row is its heading; those of numbers stand on the right. */
export function cellsOf(rows: readonly (readonly string[])[]): Cell<readonly string[]>[] {
  const [heading = [], ...body] = rows;
  return heading.map((label, i) => {
    const texts = body.map((row) => row[i] ?? '');
    const known = texts.filter((text) => !UNKNOWN.test(text));
    // Where nothing is known, a column beside the first would have been one of numbers.
    const right = texts.length > 0 && (known.length > 0 || i > 0) && known.every((text) => numberOf(text) !== null);
    return {
      key: String(i),
      label,
      right,
      wide: texts.some((text) => text.length > 48),
      text: (row) => row[i] ?? '',
      value: right ? (row) => numberOf(row[i] ?? '') : undefined,
    };
  });
}
