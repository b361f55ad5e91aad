// The layout of a chart: where its axes, words, points and cells stand in a drawing of a given width. It draws nothing.

import { plain, shown } from '../lib/format';
import { RUNS } from '../lib/palette';
import { bandScale, scaleOf, type Scale } from './axis';
import type { Axis, Chart, Point, Series, Tone } from './page';

/** How points are drawn: shapes differ, so that a meaning does not depend on colour alone. */
export type Shape = 'circle' | 'cross' | 'hollow' | 'square' | 'triangle' | 'diamond';

export interface Style {
  /** Name of a colour in the style sheet. */
  color: string;
  shape: Shape;
  /** Pattern of lines; empty for a continuous one. */
  dash: string;
}

const TONES: Record<Exclude<Tone, 'plain'>, Style> = {
  good: { color: 'good', shape: 'circle', dash: '' },
  bad: { color: 'bad', shape: 'cross', dash: '7 4' },
  doubt: { color: 'warn', shape: 'hollow', dash: '2 3' },
};
const SHAPES: Shape[] = ['square', 'triangle', 'diamond'];
const DASHES = ['', '7 4', '2 3', '9 3 2 3'];

/** Returns the style of each series: by its tone, and for plain ones the next of a palette. */
export function stylesOf(series: readonly Series[]): Style[] {
  const shapes: Shape[] = series.some(({ tone }) => tone === 'good') ? SHAPES : ['circle', ...SHAPES];
  let plain = 0;
  return series.map(({ tone }) => {
    if (tone !== 'plain') return TONES[tone];
    const i = plain++;
    return { color: RUNS[i % RUNS.length], shape: shapes[i % shapes.length], dash: DASHES[i % DASHES.length] };
  });
}

/** A point, in pixels; `low` and `high` are the ends of its interval. */
export interface Dot {
  x: number;
  y: number;
  low: number | null;
  high: number | null;
  point: Point;
  style: Style;
}

export interface LaidSeries {
  series: Series;
  style: Style;
  dots: Dot[];
}

/** A word of the legend, with the left end of its sign. */
export interface Key {
  x: number;
  y: number;
  name: string;
  style: Style;
  kind: Series['kind'];
  /** Whether its points are drawn. */
  isSigned: boolean;
}

/** The label of a tick, in lines. */
export interface Label {
  at: number;
  lines: string[];
}

export interface Layout {
  width: number;
  height: number;
  left: number;
  right: number;
  top: number;
  bottom: number;
  xLabels: Label[];
  yLabels: Label[];
  /** Places of grid lines. */
  xGrid: number[];
  yGrid: number[];
  /** Where zero is on the second axis, within the drawing. */
  base: number;
  keys: Key[];
  series: LaidSeries[];
  /** Width of a bar. */
  bar: number;
  /** Width and height of a cell; null without cells. */
  cell: [number, number] | null;
}

export const LINE = 14;
const MARGIN = 12;

/** Returns the approximate width of a text of the size of axes. */
export function widthOf(text: string): number {
  let width = 0;
  for (const c of text) width += c > '\u2e7f' ? 11.2 : 'ilI.,:;|\'! '.includes(c) ? 3.6 : 'mwMW%@µ'.includes(c) ? 9.4 : 6.4;
  return width;
}

/** Breaks a text into at most `most` lines of a width; what does not fit ends with an ellipsis. */
export function wrapped(text: string, width: number, most: number): string[] {
  const pieces = text.match(/[^\s\-/_\u2e80-\uffff]+[-/_]*\s*|[-/_\u2e80-\uffff]\s*|\s+/g) ?? [];
  const lines: string[] = [];
  let line = '';
  for (const piece of pieces) {
    if (line && widthOf((line + piece).trim()) > width) {
      lines.push(line.trim());
      line = '';
    }
    line += piece;
  }
  if (line.trim()) lines.push(line.trim());
  const kept = lines.slice(0, most);
  if (lines.length > most) kept[most - 1] += '…';
  return kept.map((one) => cut(one, width));
}

function cut(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  let kept = text.replace(/…$/, '');
  while (kept.length > 1 && widthOf(`${kept}…`) > width) kept = kept.slice(0, -1);
  return `${kept}…`;
}

/** Heights of a chart without cells: on paper three of them find room on a sheet. */
const [PAPER, LOW, HIGH] = [180, 170, 260];

/** Lays out a chart, for the screen or for paper. */
export function layoutOf(chart: Chart, width: number, onPaper = false): Layout {
  const styles = stylesOf(chart.series);
  const hasCells = chart.series.some(({ kind }) => kind === 'cells');
  const legend = legendOf(chart, styles, width);
  const top = legend.height + (chart.y.label ? LINE + 16 : 12);
  const y = yScale(chart, hasCells);
  const left = leftOf(chart.y, y, width);
  const right = Math.max(width - 10, left + 40);
  const x = xScale(chart, hasCells, right - left);
  const xLabels = xLabelsOf(x, right - left, chart.x.unit === 'names');
  const tallest = Math.max(1, ...xLabels.map(({ lines }) => lines.length));
  const plot = hasCells ? Math.min(Math.max(y.ticks.length * 40, 80), 480) : onPaper ? PAPER : Math.max(LOW, Math.min(HIGH, 0.5 * width));
  const bottom = top + plot;
  const px = (value: number): number => left + x.place(value) * (right - left);
  // Names are read from above, as in a table; an end that is infinite is at the edge.
  const py = (value: number): number => Math.min(Math.max(y.band === null ? bottom - y.place(value) * plot : top + y.place(value) * plot, top), bottom);
  const { bar, laid } = dotsOf(chart, styles, x, right - left, px, py);
  return {
    width, left, right, top, bottom, bar,
    height: bottom + 8 + tallest * LINE + (chart.x.label ? LINE + 4 : 2),
    xLabels: spaced(xLabels.map(({ at, lines }) => ({ at: px(at), lines })), x.band !== null),
    yLabels: y.ticks.map(({ value, label }) => ({ at: py(value), lines: wrapped(label, left - 14, y.band === null ? 1 : 2) })),
    xGrid: x.band === null ? x.ticks.map(({ value }) => px(value)) : [],
    yGrid: y.band === null ? y.ticks.map(({ value }) => py(value)) : [],
    base: y.band === null ? py(0) : bottom,
    keys: legend.keys,
    series: laid,
    cell: hasCells ? [(right - left) * (x.band ?? 1), plot * (y.band ?? 1)] : null,
  };
}

const pointsOf = (chart: Chart): Point[] => chart.series.flatMap(({ points }) => points);

function yScale(chart: Chart, hasCells: boolean): Scale {
  const points = pointsOf(chart);
  if (hasCells || chart.y.unit === 'names') return bandScale(chart.y, points.map(({ y }) => y));
  const ends = points.flatMap(({ interval }) => interval ?? []).filter((end): end is number => end !== null);
  return scaleOf(chart.y, [...points.map(({ y }) => y), ...ends], chart.series.some(({ kind }) => kind === 'bars') ? 'zero' : 'fitting', 5);
}

/** Room that a tick takes on the first axis. */
const ROOM: Record<Axis['unit'], number> = { users: 44, per_second: 72, micros: 72, share: 64, elapsed: 64, moment: 100, number: 44, names: 44 };

function xScale(chart: Chart, hasCells: boolean, room: number): Scale {
  const xs = pointsOf(chart).map(({ x }) => x);
  const isBars = chart.series.some(({ kind }) => kind === 'bars');
  if (hasCells || isBars || chart.x.unit === 'names') return bandScale(chart.x, xs);
  const scale = scaleOf(chart.x, xs, chart.x.unit === 'number' ? 'values' : 'fitting', Math.max(2, Math.floor(room / ROOM[chart.x.unit])));
  // Nothing is cut at the ends.
  const margin = Math.min(0.1, MARGIN / Math.max(room, 1));
  return { ...scale, place: (value) => margin + scale.place(value) * (1 - 2 * margin) };
}

function leftOf(axis: Axis, scale: Scale, width: number): number {
  const widest = Math.max(0, ...scale.ticks.map(({ label }) => widthOf(label)));
  return Math.round(Math.min(Math.max(widest + 16, 36), (axis.unit === 'names' ? 0.35 : 0.5) * width));
}

function xLabelsOf(x: Scale, room: number, isNames: boolean): Label[] {
  const each = x.band === null ? Infinity : room * x.band - 6;
  // Of many bands, those that have room are named.
  const every = x.band === null ? 1 : Math.ceil(34 / Math.max(each, 1));
  return x.ticks.filter((_, i) => i % every === 0).map(({ value, label }) => ({ at: value, lines: isNames ? wrapped(label, each * every, 3) : [label] }));
}

/** Leaves out labels that would run into the one before. */
function spaced(labels: Label[], isBands: boolean): Label[] {
  if (isBands) return labels;
  let end = -Infinity;
  return labels.filter(({ at, lines }) => {
    const half = widthOf(lines[0] ?? '') / 2;
    if (at - half < end + 8) return false;
    end = at + half;
    return true;
  });
}

function legendOf(chart: Chart, styles: readonly Style[], width: number): { keys: Key[]; height: number } {
  const drawn = chart.series.map((series, i) => ({ series, style: styles[i] })).filter(({ series }) => series.points.length > 0);
  const named = drawn.filter(({ series }) => series.kind !== 'cells' || series.tone !== 'plain');
  // What is alone is named by the title; a meaning is always named.
  if (named.length < 2 && named.every(({ series }) => series.tone === 'plain')) return { keys: [], height: 0 };
  const keys: Key[] = [];
  let [x, y] = [0, 10];
  for (const { series, style } of named) {
    const name = cut(series.name || chart.y.label, width - 40);
    const size = 30 + widthOf(name) * 1.1 + 20;
    if (x > 0 && x + size - 20 > width) [x, y] = [0, y + LINE + 4];
    keys.push({ x, y, name, style, kind: series.kind, isSigned: series.points.some(({ label }) => label) });
    x += size;
  }
  return { keys, height: y + LINE };
}

function dotsOf(chart: Chart, styles: readonly Style[], x: Scale, room: number, px: (value: number) => number, py: (value: number) => number): { bar: number; laid: LaidSeries[] } {
  const beside = besideOf(chart, x, room);
  const laid = chart.series.map((series, i): LaidSeries => {
    const known = series.points.filter(({ x: at, y }) => Number.isFinite(at) && Number.isFinite(y));
    const dots = known.map((point): Dot => {
      const [low, high] = point.interval ?? [];
      return {
        x: px(point.x) + beside.off(series, point), y: py(point.y), point, style: styles[i],
        low: point.interval ? py(low ?? -Infinity) : null, high: point.interval ? py(high ?? Infinity) : null,
      };
    });
    return { series, style: styles[i], dots };
  });
  return { bar: Math.max(3, beside.step * 0.84), laid };
}

/** Where bands are, what stands at the same place stands side by side: how far apart, and how far off the middle. */
function besideOf(chart: Chart, x: Scale, room: number): { step: number; off: (series: Series, point: Point) => number } {
  const at = new Map<number, Series[]>();
  for (const series of chart.series) {
    if (x.band === null || (series.kind !== 'bars' && series.kind !== 'points')) continue;
    for (const { x: place } of series.points) at.set(place, [...(at.get(place) ?? []), series]);
  }
  const most = Math.max(1, ...[...at.values()].map((all) => all.length));
  const step = Math.min(room * (x.band ?? 0) * 0.8, 64 * most) / most;
  const off = (series: Series, { x: place }: Point): number => {
    const all = at.get(place) ?? [];
    return all.includes(series) ? (all.indexOf(series) - (all.length - 1) / 2) * step : 0;
  };
  return { step, off };
}

/** Returns the path of a series: through its points, or in steps that hold until the next point and to the end. */
export function pathOf({ series, dots }: LaidSeries, end: number): string {
  const at = (n: number): string => n.toFixed(1);
  if (series.kind !== 'steps') return dots.map(({ x, y }, i) => `${i ? 'L' : 'M'}${at(x)} ${at(y)}`).join('');
  return dots.map(({ x, y }, i) => (i ? `H${at(x)}V${at(y)}` : `M${at(x)} ${at(y)}`)).join('') + (dots.length ? `H${at(end)}` : '');
}

/** Returns the points that can be pointed at, in the order of the keyboard: along the first axis, then from above. */
export function pointable(series: readonly LaidSeries[]): Dot[] {
  return series.flatMap(({ dots }) => dots).filter(({ point }) => point.label).sort((a, b) => a.x - b.x || a.y - b.y);
}

/** Returns the texts of cells: in full or to three digits, whichever fits into a width, and none if they do not. */
export function cellTexts(values: readonly number[], width: number, own: readonly (string | undefined)[] = []): string[] | null {
  const known = own.filter((text) => text !== undefined);
  if (known.length === values.length && known.every((text) => widthOf(text) <= width)) return known;
  const ways = [(value: number) => shown(value, 'number'), (value: number) => plain(Number(value.toPrecision(3)))];
  return ways.map((way) => values.map(way)).find((texts) => texts.every((text) => widthOf(text) <= width)) ?? null;
}

/** Returns the part of each value between the least and the greatest: of their logarithms if these are far apart. */
export function shares(values: readonly number[]): (value: number) => number {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  if (!(most > least)) return () => 0.5;
  if (least > 0 && most / least > 20) return (value) => Math.log(value / least) / Math.log(most / least);
  return (value) => (value - least) / (most - least);
}
