// Charts as SVG files: the same scales and colours as on the page, and with title, axes and line names.

import type { Line } from '../components/types';
import { onAxis, type Unit } from './format';
import type { Mark, Span } from './run.svelte';
import { linearTicks, logTicks, niceMax, timeLabels, timeTicks } from './scale';

export interface Drawn {
  svg: string;
  width: number;
  height: number;
}

interface Frame {
  title: string;
  note?: string;
  color: (name: string) => string;
  lang: string;
}

const FONT = "system-ui, 'Segoe UI', 'Noto Sans', 'PingFang SC', 'Microsoft YaHei', sans-serif";

/** Escapes text for SVG, since names may contain markup. */
export function escaped(text: string): string {
  const names: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
  return text.replace(/[&<>"']/g, (c) => names[c]);
}

function text(x: number, y: number, said: string, fill: string, more = ''): string {
  return `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" fill="${fill}" ${more}>${escaped(said)}</text>`;
}

function page(width: number, height: number, frame: Frame, inner: string): Drawn {
  const { color } = frame;
  const svg =
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="${escaped(FONT)}" font-size="11">` +
    `<rect width="${width}" height="${height}" fill="${color('panel')}"/>` +
    text(16, 24, frame.title, color('ink'), 'font-size="14" font-weight="600"') +
    (frame.note ? text(width - 16, 24, frame.note, color('ink-3'), 'text-anchor="end"') : '') +
    inner +
    '</svg>';
  return { svg, width, height };
}

/** Returns the path of a line in steps, as on the page: each value applies until the next time. */
export function stepped(xs: readonly number[], values: readonly (number | null)[], px: (x: number) => number, py: (y: number) => number): string {
  let path = '';
  let open = false;
  for (let i = 0; i < values.length; i++) {
    const value = values[i];
    if (value === null || value === undefined) {
      open = false;
      continue;
    }
    const y = py(value).toFixed(1);
    path += `${open ? 'V' + y : `M${px(xs[i]).toFixed(1)} ${y}`}H${px(xs[i + 1] ?? xs[i]).toFixed(1)}`;
    open = true;
  }
  return path;
}

export interface TimeDrawing extends Frame {
  unit: Unit;
  x: readonly number[];
  lines: readonly Line[];
  span: Span;
  log: boolean;
  marks: readonly Mark[];
  /** Formats a time as time of day; absent if that is unknown. */
  wall?: (at: number) => string;
}

/** Draws lines over time. */
export function timeSeries(of: TimeDrawing): Drawn {
  const [width, height] = [960, 340];
  const [left, right, top, bottom] = [64, width - 16, 56, height - (of.wall ? 46 : 32)];
  const { color } = of;
  const inside = (i: number): boolean => of.x[i + 1] > of.span.from && of.x[i] < of.span.to;
  const all = of.lines.flatMap((line) => line.values.filter((v, i): v is number => v !== null && inside(i)));
  const positive = all.filter((v) => v > 0);
  const most = Math.max(0, ...all);
  const low = of.log ? Math.min(...positive, most || 1) : 0;
  const high = of.log ? most || 1 : niceMax(most);
  const px = (x: number): number => left + ((x - of.span.from) / (of.span.to - of.span.from)) * (right - left);
  const py = (y: number): number =>
    of.log
      ? bottom - (Math.log(Math.max(y, low) / low) / Math.log(Math.max(high / low, 1.0001))) * (bottom - top)
      : bottom - (y / high) * (bottom - top);
  let out = `<clipPath id="c"><rect x="${left}" y="${top - 2}" width="${right - left}" height="${bottom - top + 4}"/></clipPath>`;
  for (const tick of of.log ? logTicks(low, high, 6) : linearTicks(0, high, 5)) {
    const y = py(tick).toFixed(1);
    out += `<path d="M${left} ${y}H${right}" stroke="${color('grid')}"/>` + text(left - 8, Number(y) + 4, onAxis(tick, of.unit), color('ink-3'), 'text-anchor="end"');
  }
  const ticks = timeTicks(of.span.from, of.span.to, 10);
  timeLabels(ticks).forEach((label, i) => {
    out += text(px(ticks[i]), bottom + 18, label, color('ink-3'), 'text-anchor="middle"');
    if (of.wall) out += text(px(ticks[i]), bottom + 32, of.wall(ticks[i]), color('ink-3'), 'text-anchor="middle"');
  });
  for (const mark of of.marks.filter((m) => m.to !== undefined && m.to >= of.span.from && m.at <= of.span.to)) {
    const [a, b] = [Math.max(px(mark.at), left), Math.min(px(mark.to!), right)];
    out += `<rect x="${a.toFixed(1)}" y="${top}" width="${Math.max(b - a, 1).toFixed(1)}" height="${bottom - top}" fill="${color(mark.kind === 'pause' ? 'shade' : 'alarm')}"/>`;
  }
  for (const mark of of.marks.filter((m) => m.to === undefined && m.at >= of.span.from && m.at <= of.span.to)) {
    const x = px(mark.at).toFixed(1);
    out += `<path d="M${x} ${top}V${bottom}" stroke="${color('mark')}" stroke-dasharray="2 3"/>`;
  }
  let at = left;
  for (const line of of.lines) {
    const dash = line.dash ? ' stroke-dasharray="5 4"' : '';
    const path = stepped(of.x, line.values, px, py);
    out += `<path clip-path="url(#c)" d="${path}" fill="none" stroke="${color(line.color)}" stroke-width="${line.width ?? 1.5}"${dash}/>`;
    out += `<path d="M${at} 42h14" stroke="${color(line.color)}" stroke-width="2"${dash}/>` + text(at + 20, 46, line.label, color('ink-2'));
    at += 40 + line.label.length * (of.lang === 'zh' ? 12 : 6.6);
  }
  out += `<path d="M${left} ${bottom}H${right}" stroke="${color('line')}"/>`;
  return page(width, height, of, out);
}

/** Adds a title to a drawing that the page already contains. */
export function framed(inner: string, width: number, height: number, frame: Frame): Drawn {
  return page(width, height + 40, frame, `<g transform="translate(0 36)">${inner}</g>`);
}
