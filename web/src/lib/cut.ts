// A run that ended sooner than it was to.

/** After how much of its time a run was cut (seconds), and how long it was to last; null where it was not, or that is not known. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export function cutAfter(report: any): { after: number; of: number | null } | null {
  if (report.ended !== 'interrupted' && report.ended !== 'cut_off') return null;
  const of = typeof report.plan?.duration === 'number' ? report.plan.duration / 1e9 : null;
  return of !== null && report.window_s >= of ? null : { after: report.window_s, of };
}
