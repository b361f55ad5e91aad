// The form of a new run, converted to a plan file like any other.

/** The contents of the form, as typed. */
export interface Form {
  url: string;
  kind: 'users' | 'rate';
  level: string;
  /** Initial level of a changing load; empty for a constant one. */
  from: string;
  duration: string;
  warmup: string;
  method: string;
  headers: string;
  body: string;
  objectives: string;
}

export const EMPTY: Form = {
  url: 'http://127.0.0.1:8080/', kind: 'users', level: '10', from: '', duration: '30s', warmup: '', method: 'GET', headers: '', body: '', objectives: '',
};

/** Formats a text as YAML, of which JSON strings are a subset. */
const text = (value: string): string => JSON.stringify(value);

const lines = (value: string): string[] => value.split('\n').map((line) => line.trim()).filter(Boolean);

/** Adds the unit to a level as typed: `500` becomes `500/s` for a rate. */
const level = (form: Form, value: string): string => (form.kind === 'rate' && /^[\d.]+$/.test(value.trim()) ? `${value.trim()}/s` : value.trim());

/** Returns the plan for a form. */
export function planOf(form: Form): string {
  const out = [`urls: ${text(form.url.trim())}`];
  const most = level(form, form.level);
  if (form.from.trim()) out.push(`stages:\n  - ${text(`${form.duration.trim()}:${level(form, form.from)}..${most}`)}`);
  else out.push(`${form.kind}: ${/^\d+$/.test(most) ? most : text(most)}`, `duration: ${text(form.duration.trim())}`);
  if (form.warmup.trim()) out.push(`warmup: ${text(form.warmup.trim())}`);
  if (form.method !== 'GET') out.push(`method: ${form.method}`);
  const list = (key: string, values: string[]): void => {
    if (values.length) out.push(`${key}:`, ...values.map((value) => `  - ${text(value)}`));
  };
  list('header', lines(form.headers));
  if (form.body) out.push(`data: ${text(form.body)}`);
  list('objectives', lines(form.objectives));
  return `${out.join('\n')}\n`;
}

/** Fields of the form, as named in `words.ts`, by the key of the plan that they become. */
const FIELDS = {
  URL: 'url', urls: 'url', users: 'users', rate: 'rate', stage: 'from0', stages: 'from0', duration: 'duration', warmup: 'warmup', method: 'method',
  header: 'headers', data: 'body', objective: 'objectives', objectives: 'objectives',
  agents: 'agents',
} as const;

/** Returns the field that the place of a complaint names: `plan line 3 column 11 (duration)`. */
export function fieldOf(place: string | undefined): (typeof FIELDS)[keyof typeof FIELDS] | null {
  const key = /\(([\w-]+)\)$/.exec(place ?? '')?.[1] ?? place?.replace(/^--/, '');
  return key !== undefined && Object.hasOwn(FIELDS, key) ? FIELDS[key as keyof typeof FIELDS] : null;
}

/** A point of the planned load; time in seconds. */
export interface Point {
  at: number;
  level: number;
}

/** A planned load over time, in seconds from the start of the window. */
export interface Course {
  /** Name of the scenario; empty in a run without scenarios. */
  name: string;
  points: Point[];
  open: boolean;
}

/** The planned loads over time. */
export interface Curves {
  courses: Course[];
  warmup: number;
  end: number;
}

interface Load {
  model: string;
  stages?: { lasts: number; from: number; to: number }[];
}

/**
 * Returns the course of one load from its start, for at most `most` seconds; `lasts` is null if only a number of
 * requests ends it.
 */
function courseOf(name: string, load: Load, start: number, lasts: number | null, most: number): Course {
  const points: Point[] = [];
  let at = start;
  const end = start + Math.min(lasts ?? Infinity, most);
  for (const stage of load.stages ?? []) {
    const length = stage.lasts / 1e9;
    if (at >= end) break;
    const share = length > 0 ? Math.min(1, (end - at) / length) : 1;
    points.push({ at, level: stage.from }, { at: at + length * share, level: stage.from + (stage.to - stage.from) * share });
    at += length;
  }
  // After its last stage, a load keeps its level.
  const last = points[points.length - 1];
  if (last && lasts !== null && last.at < end - 1e-9) points.push({ at: end, level: last.level });
  return { name, points, open: load.model === 'open' };
}

const stagesLast = (load: Load): number => (load.stages ?? []).reduce((sum, stage) => sum + stage.lasts, 0) / 1e9;

/** Time in seconds for which a load is drawn if only a number of requests ends it. */
const UNENDING = 60;

/** Returns the load over time, for each scenario; null if the plan has none. */
// The plan as brunt records it.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export function curvesOf(plan: any): Curves | null {
  const warmup = (plan?.warmup ?? 0) / 1e9;
  const scenarios: { name: string; load: Load; start: number; duration: number | null }[] = plan?.scenarios ?? [];
  if (scenarios.length) {
    const lasts = scenarios.map(({ load, duration }) => (duration === null || duration === undefined ? stagesLast(load) : duration / 1e9));
    const known = scenarios.flatMap(({ start }, i) => (lasts[i] < 1e6 ? [start / 1e9 + lasts[i]] : []));
    const whole = Math.max(0, ...known) || UNENDING;
    const courses = scenarios.map(({ name, load, start }, i) => courseOf(name, load, start / 1e9, lasts[i] < 1e6 ? lasts[i] : null, Math.max(whole - start / 1e9, 1)));
    // Those that start with the run take part in its warm-up.
    courses.forEach(({ points }, i) => warmup > 0 && scenarios[i].start === 0 && points.length && points.unshift({ at: -warmup, level: points[0].level }));
    return { courses, warmup, end: Math.max(whole, ...courses.flatMap(({ points }) => points.map(({ at }) => at))) };
  }
  if (!plan?.load?.stages?.length) return null;
  const whole = stagesLast(plan.load);
  const planned = Math.min(whole, plan.duration ? plan.duration / 1e9 : whole);
  const end = planned < 1e6 ? planned : UNENDING;
  const course = courseOf('', plan.load, 0, end, end);
  if (warmup > 0) course.points.unshift({ at: -warmup, level: plan.load.stages[0].from });
  return { courses: [course], warmup, end };
}

/** Example plans to start from. */
export const EXAMPLES: { key: string; en: string; zh: string; plan: string }[] = [
  { key: 'load', en: 'Steady load', zh: '稳定负载', plan: 'urls: http://127.0.0.1:8080/\nrate: 100/s\nduration: 1m\nwarmup: 5s\nobjectives:\n  - p99<200ms\n  - failed<0.1%\n' },
  { key: 'spike', en: 'Spike', zh: '尖峰', plan: 'urls: http://127.0.0.1:8080/\nstages:\n  - 30s:50/s\n  - 10s:50/s..500/s\n  - 20s:500/s\n  - 10s:500/s..50/s\n  - 30s:50/s\n' },
  { key: 'steps', en: 'Steps', zh: '阶梯', plan: 'urls: http://127.0.0.1:8080/\nstages:\n  - 30s:100/s\n  - 30s:200/s\n  - 30s:400/s\n  - 30s:800/s\n' },
  { key: 'users', en: 'Users with pauses', zh: '带停顿的用户', plan: 'urls: http://127.0.0.1:8080/\nusers: 50\nthink: 500ms..2s\nduration: 2m\n' },
  {
    key: 'scenarios', en: 'Scenarios', zh: '多个场景',
    plan: 'scenarios:\n  browse:\n    rate: 20/s\n    duration: 1m\n    flow:\n      - url: http://127.0.0.1:8080/\n        name: home\n  admin:\n    users: 3\n    start: 10s\n    duration: 40s\n    flow:\n      - url: http://127.0.0.1:8080/json\n        name: items\n      - pause: 1s\n',
  },
  {
    key: 'flow', en: 'Flow', zh: '流程',
    plan: 'users: 10\nduration: 1m\nflow:\n  - url: http://127.0.0.1:8080/\n    name: home\n  - pause: 1s\n  - url: http://127.0.0.1:8080/json\n    name: items\n',
  },
];
