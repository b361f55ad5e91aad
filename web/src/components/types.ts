// Inputs of charts and tables, independent of their source: a report, or a run in progress.

import type { Unit } from '../lib/format';

/**
 * A line of a chart. Each value applies to the interval that begins at the same index of the chart's `x`; null if it is
 * unknown.
 */
export interface Line {
  key: string;
  label: string;
  /** Name of a colour in the style sheet: `succeeded` for `--succeeded`. */
  color: string;
  values: readonly (number | null)[];
  dash?: boolean;
  /** Whether the area below the line is tinted. */
  fill?: boolean;
  width?: number;
  /** Whether each value is only a lower bound. */
  bounds?: readonly boolean[];
  hidden?: boolean;
}

/** A column of a table. */
export interface Cell<Row> {
  key: string;
  label: string;
  /** Returns the text of the cell. */
  text: (row: Row) => string;
  /** Returns the value used for sorting and copying; the text by default. */
  value?: (row: Row) => number | string | null;
  right?: boolean;
  /** Returns the values of a small curve, shown instead of the text. */
  curve?: (row: Row) => readonly (number | null)[];
  /** Returns the emphasis of the cell: `bad`, `warn` or `quiet`. */
  tone?: (row: Row) => string;
  /** Returns the tooltip. */
  title?: (row: Row) => string | undefined;
  mono?: boolean;
  wide?: boolean;
}

export type { Unit };
