// The HTTP API of the console (docs/api.md), as used by the pages.

import type { Against } from '../lib/contrast';
import { door } from './door.svelte';

export interface Figures {
  started_ms: number;
  target: string;
  urls: number;
  protocol: string;
  mode: string;
  load_peak: number;
  load_steady: boolean;
  planned_s: number | null;
  ended: string;
  exit: number;
  verdict: string;
  window_s: number;
  elapsed_s: number;
  scheduled: number;
  succeeded: number;
  failed: number;
  unfinished: number;
  throughput_per_s: number;
  p50_us: number | null;
  p95_us: number | null;
  p99_us: number | null;
  objectives: number;
  met: number;
  /** Objectives that brunt's own delays leave undecided; absent in older libraries. */
  undecided?: number;
  limit: string | null;
}

export interface Kept {
  id: string;
  origin: 'console' | 'command_line' | 'dropped';
  state: 'running' | 'over' | 'failed';
  started_ms: number;
  name: string;
  notes: string;
  favourite: boolean;
  tags: string[];
  bytes: number;
  figures: Figures | null;
  fault: string | null;
  takes_orders: boolean;
}

export interface Page {
  runs: Kept[];
  next: string | null;
  total: number;
  bytes: number;
  tags: Record<string, number>;
}

export interface About {
  brunt: string;
  role: 'look' | 'steer';
  formats: string[];
  /** A fleet was made. */
  fleet: boolean;
  look_link: string | null;
}

export interface Stage {
  lasts: number;
  from: number;
  to: number;
}

export interface Checked {
  ok: boolean;
  said?: string;
  notes?: string[];
  heavy?: boolean;
  // The plan as recorded; a page reads only the parts that it draws.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  plan?: any;
  place?: string;
  line?: number;
  column?: number;
  trouble?: string;
  below?: string[];
}

export interface Compared {
  runs: Kept[];
  base: string;
  compared: ({ id: string } & Against)[];
}

/** An error of the API, with a message. */
export class Problem extends Error {
  constructor(readonly status: number, readonly code: string, sentence: string) {
    super(sentence);
  }
}

async function answer(method: string, path: string, body?: unknown, raw?: Blob): Promise<Response> {
  const headers: Record<string, string> = body === undefined ? {} : { 'Content-Type': 'application/json' };
  let response: Response;
  try {
    response = await fetch(`/api/v1${path}`, { method, headers, body: raw ?? (body === undefined ? undefined : JSON.stringify(body)) });
  } catch {
    throw new Problem(0, 'gone', '');
  }
  if (response.ok) return response;
  if (response.status === 401) door.out = true;
  const said = await response.json().catch(() => null);
  throw new Problem(response.status, said?.error?.code ?? 'unknown', said?.error?.sentence ?? response.statusText);
}

const json = async <T>(response: Promise<Response>): Promise<T> => (await response).json() as Promise<T>;

export const about = (): Promise<About> => json(answer('GET', ''));
export const list = (query: Record<string, string>): Promise<Page> => json(answer('GET', `/runs?${new URLSearchParams(query)}`));
export const one = (id: string): Promise<Kept> => json(answer('GET', `/runs/${id}`));
export const lines = async (id: string): Promise<string> => (await answer('GET', `/runs/${id}/lines`)).text();
export const planOf = async (id: string): Promise<string> => (await answer('GET', `/runs/${id}/plan`)).text();
export const mark = (id: string, marks: Partial<Pick<Kept, 'name' | 'notes' | 'favourite' | 'tags'>>): Promise<Kept> => json(answer('PATCH', `/runs/${id}`, marks));
export const remove = (id: string): Promise<Response> => answer('DELETE', `/runs/${id}`);
export const start = (asked: { plan: string; agents: string; yes: boolean; name: string; lang: string }): Promise<{ id: string }> => json(answer('POST', '/runs', asked));
export const change = (id: string, wanted: unknown, yes: boolean): Promise<Response> => answer('POST', `/runs/${id}/change${yes ? '?yes=true' : ''}`, wanted);
export const stop = (id: string, drain: boolean): Promise<Response> => answer('POST', `/runs/${id}/stop`, { drain });
export const drop = (file: File): Promise<{ id: string; experiment?: boolean }> => json(answer('POST', `/records?${new URLSearchParams({ name: file.name.slice(0, 200) })}`, undefined, file));
export const check = (plan: string, agents: string, lang: string): Promise<Checked> => json(answer('POST', '/plan/check', { plan, agents, lang }));
export const fromCurl = (curl: string, asFlow: boolean, lang: string): Promise<{ plan: string }> => json(answer('POST', '/plan/from-curl', { curl, as_flow: asFlow, lang }));
export const tryOnce = (plan: string, lang: string): Promise<{ exit: number; said: string; complaint: string }> => json(answer('POST', '/plan/try', { plan, lang }));
export const doctor = (plan: string, lang: string): Promise<{ exit: number; said: string; complaint: string }> => json(answer('POST', '/plan/doctor', { plan, lang }));
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export const schema = (): Promise<any> => json(answer('GET', '/plan/schema'));
export const compare = (ids: string[]): Promise<Compared> => json(answer('GET', `/compare?runs=${ids.join(',')}`));
export const reportLink = (id: string, format: string, lang: string, show = false): string => `/api/v1/runs/${id}/report?format=${format}&lang=${lang}${show ? '&show=true' : ''}`;
export const recordLink = (id: string): string => `/api/v1/runs/${id}/record`;
export const eventsLink = (id: string, after: string): string => `/api/v1/runs/${id}/events${after ? `?after=${after}` : ''}`;

/** An agent of the fleet; of one that does not answer, only its name is known. */
export interface Agent {
  name: string;
  labels: string[];
  state: 'idle' | 'runs' | 'silent';
  /** How many agents have its name. */
  times?: number;
  /** Its run in the fleet, and in the library. */
  fleet_run?: string | null;
  run?: string | null;
  cores?: number;
  busy_cores?: number | null;
  memory_bytes?: number;
  descriptors?: number;
  capacity_per_s?: number | null;
  terms?: { allow: string[]; max_rate?: number; max_connections?: number };
  brunt?: string;
  round_trip_us?: number;
  clock_ahead_ms?: number;
  remarks: string[];
}

export interface Fleet {
  exists: boolean;
  place: string | null;
  trouble: string | null;
  agents: Agent[];
  absent: string[];
  unfinished_runs: string[];
  join: string | null;
}

export const fleet = (lang: string): Promise<Fleet> => json(answer('GET', `/fleet?lang=${lang}`));

/** An experiment: several runs that answer one question. */
export interface ShelvedExperiment {
  id: string;
  origin: 'console' | 'command_line' | 'dropped';
  state: 'running' | 'over' | 'failed';
  /** `find`, `compare`, `sweep` or `ladder`; empty until it is known. */
  kind: string;
  name: string;
  started_ms: number;
  bytes: number;
  /** The command line, secrets masked; empty until the record has begun. */
  command: string[];
  /** The command line as typed; only with full access. */
  words?: string[];
  exit: number | null;
  fault: string | null;
  answer: { tone: 'good' | 'bad' | 'doubt' | 'plain'; en: string; zh: string } | null;
  takes_orders: boolean;
  can_go_on: boolean;
}

export interface ExperimentOutlook {
  kind: string;
  outlook: string;
}

export const experiments = async (): Promise<ShelvedExperiment[]> => (await json<{ experiments: ShelvedExperiment[] }>(answer('GET', '/experiments'))).experiments;
export const experiment = (id: string): Promise<ShelvedExperiment> => json(answer('GET', `/experiments/${id}`));
export const experimentLines = async (id: string): Promise<string> => (await answer('GET', `/experiments/${id}/lines`)).text();
export const checkExperiment = (command: string, lang: string): Promise<ExperimentOutlook> => json(answer('POST', '/experiments/check', { command, lang }));
export const startExperiment = (asked: { command: string; yes: boolean; name: string; lang: string }): Promise<{ id: string }> => json(answer('POST', '/experiments', asked));
export const stopExperiment = (id: string): Promise<Response> => answer('POST', `/experiments/${id}/stop`);
export const goOn = (id: string, lang: string): Promise<Response> => answer('POST', `/experiments/${id}/go-on`, { lang });
export const removeExperiment = (id: string): Promise<Response> => answer('DELETE', `/experiments/${id}`);
export const experimentReportLink = (id: string, format: string, lang: string): string => `/api/v1/experiments/${id}/report?format=${format}&lang=${lang}`;
export const experimentRecordLink = (id: string): string => `/api/v1/experiments/${id}/record`;
