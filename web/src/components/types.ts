// What charts and tables are given. Nothing here knows where it came from: a report, or a run that goes on.

import type { Unit } from '../lib/format';

/** A line of a chart. Values stand for the stretch that begins at the same index of the chart's `x`; null: nothing is known there. */
export interface Line {
  key: string;
  label: string;
  /** A colour of the style sheet: `succeeded` is `--succeeded`. */
  color: string;
  values: readonly (number | null)[];
  dash?: boolean;
  /** The area below it is tinted. */
  fill?: boolean;
  width?: number;
  /** Where it is only a lower bound. */
  bounds?: readonly boolean[];
  hidden?: boolean;
}

/** A column of a table. */
export interface Cell<Row> {
  key: string;
  label: string;
  /** How it is shown. */
  text: (row: Row) => string;
  /** What it is sorted by and copied as; without it, its text. */
  value?: (row: Row) => number | string | null;
  right?: boolean;
  /** A small curve in place of text. */
  curve?: (row: Row) => readonly (number | null)[];
  /** Something worth seeing: `bad`, `warn`, `quiet`. */
  tone?: (row: Row) => string;
  /** More about it, under the pointer. */
  title?: (row: Row) => string | undefined;
  mono?: boolean;
  wide?: boolean;
}

export type { Unit };
