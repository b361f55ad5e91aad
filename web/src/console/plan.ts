// The form of a new run, as a plan file: what is typed there is a plan like any other.

/** What the form holds, as it was typed. */
export interface Form {
  url: string;
  kind: 'users' | 'rate';
  level: string;
  /** What the load begins with, where it changes. */
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

/** A text as YAML: JSON's strings are strings of YAML. */
const text = (value: string): string => JSON.stringify(value);

const lines = (value: string): string[] => value.split('\n').map((line) => line.trim()).filter(Boolean);

/** A level as people type it, with its unit: `500` of a rate is `500/s`. */
const level = (form: Form, value: string): string => (form.kind === 'rate' && /^[\d.]+$/.test(value.trim()) ? `${value.trim()}/s` : value.trim());

/** The plan of a form. */
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

/** A point of the load as planned. */
export interface Point {
  at: number;
  level: number;
}

/** The way of the load over time, in seconds from the start of the window; None where the plan does not say how long it takes. */
// The plan as brunt records it.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export function curveOf(plan: any): { points: Point[]; open: boolean; warmup: number; end: number } | null {
  const stages: { lasts: number; from: number; to: number }[] = plan?.load?.stages ?? [];
  if (!stages.length) return null;
  const whole = stages.reduce((sum, stage) => sum + stage.lasts, 0) / 1e9;
  // One that only a number of requests ends lasts for ever on paper.
  const end = Math.min(whole, plan.duration ? plan.duration / 1e9 : whole);
  const bounded = end < 1e6 ? end : 60;
  const warmup = (plan.warmup ?? 0) / 1e9;
  const points: Point[] = warmup > 0 ? [{ at: -warmup, level: stages[0].from }] : [];
  let at = 0;
  for (const stage of stages) {
    const lasts = stage.lasts / 1e9;
    if (at >= bounded) break;
    const share = Math.min(1, (bounded - at) / lasts);
    points.push({ at, level: stage.from }, { at: at + lasts * share, level: stage.from + (stage.to - stage.from) * share });
    at += lasts;
  }
  return { points, open: plan.load.model === 'open', warmup, end: bounded };
}

/** Plans to begin with. */
export const EXAMPLES: { key: string; en: string; zh: string; plan: string }[] = [
  { key: 'load', en: 'Steady load', zh: '稳定负载', plan: 'urls: http://127.0.0.1:8080/\nrate: 100/s\nduration: 1m\nwarmup: 5s\nobjectives:\n  - p99<200ms\n  - failed<0.1%\n' },
  { key: 'spike', en: 'Spike', zh: '尖峰', plan: 'urls: http://127.0.0.1:8080/\nstages:\n  - 30s:50/s\n  - 10s:50/s..500/s\n  - 20s:500/s\n  - 10s:500/s..50/s\n  - 30s:50/s\n' },
  { key: 'steps', en: 'Steps', zh: '阶梯', plan: 'urls: http://127.0.0.1:8080/\nstages:\n  - 30s:100/s\n  - 30s:200/s\n  - 30s:400/s\n  - 30s:800/s\n' },
  { key: 'users', en: 'Users with pauses', zh: '有停顿的用户', plan: 'urls: http://127.0.0.1:8080/\nusers: 50\nthink: 500ms..2s\nduration: 2m\n' },
  {
    key: 'flow', en: 'Flow', zh: '流程',
    plan: 'users: 10\nduration: 1m\nflow:\n  - request: http://127.0.0.1:8080/\n    name: home\n  - pause: 1s\n  - request: http://127.0.0.1:8080/json\n    name: items\n',
  },
];
