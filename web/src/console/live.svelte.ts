// A run in progress, built from its events.

import { Run, type Head, type Mark } from '../lib/run.svelte';
import { rate } from '../lib/format';
import { about, eventsLink } from './api';
import { C } from './words';

export interface Happened {
  at: number | null;
  kind: 'change' | 'notice' | 'fault';
  text: { en: string; zh: string };
}

export interface Example {
  kind: string;
  phase: string;
  errno: string | null;
  detail: string;
  sent: string;
  received: string;
  /** Index among the names of the run. */
  name?: number;
  status?: string;
  values?: { name: string; value: string | null }[];
  words: Record<'en' | 'zh', { kind: string; sort: string; detail: string }>;
}

/** How an agent of the run stands. */
export type Standing = 'awaited' | 'in' | 'silent' | 'ended' | 'lost' | 'twice';

/** A second that silent agents hold up, without them. */
export interface Provisional {
  to_ns: number;
  throughput_per_s: number;
  failed: number;
  missing_share: number;
}

const STANDINGS: Record<string, Standing> = { agent_late: 'silent', agent_back: 'in', agent_lost: 'lost', agent_refused: 'lost', agent_twice: 'twice' };

/** Milliseconds without any event after which a connection is lost; there is one every second. */
const SILENT = 3000;

/** Listens to the events of a run until it ends or `end` is called. */
export class Live {
  run: Run | null = $state(null);
  /** Increases when something new is to be drawn. */
  version = $state(0);
  changes: { at_ns: number; change: unknown }[] = $state([]);
  happened: Happened[] = $state([]);
  examples: Example[] = $state([]);
  paused = $state(false);
  /** The level that the load was last changed to. */
  level: number | null = $state(null);
  over = $state(false);
  /** The agents that something was told of, by name. */
  standings: Record<string, Standing> = $state({});
  /** What is known of the seconds that silent agents hold up; null while all is whole. */
  provisional: Provisional | null = $state(null);
  /** The time of the last event if the connection is lost, in milliseconds since 1970; null while it stands. */
  lost: number | null = $state(null);
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  private waiting: any[] = [];
  private drawing: ReturnType<typeof setTimeout> | undefined;
  private source: EventSource;
  /** Number of the last event, and when it came. */
  private last = '';
  private heard = Date.now();
  private readonly watching: ReturnType<typeof setInterval>;

  constructor(private readonly id: string, private readonly ended: () => void) {
    this.source = this.listen();
    this.watching = setInterval(() => void this.watch(), 1000);
  }

  /** Notices that the console tells nothing any more, asks it why, and listens again once it answers. */
  private async watch(): Promise<void> {
    if (this.over || Date.now() - this.heard <= SILENT) return;
    this.lost = this.heard;
    // Where this browser is no longer known, the answer opens the door.
    const answers = await about().then(() => true, () => false);
    if (answers && !this.over && this.source.readyState === EventSource.CLOSED) this.source = this.listen();
  }

  private listen(): EventSource {
    const source = new EventSource(eventsLink(this.id, this.last));
    const on = (name: string, see: (data: string) => void): void =>
      source.addEventListener(name, (event) => {
        [this.heard, this.lost] = [Date.now(), null];
        const { data, lastEventId } = event as MessageEvent<string>;
        if (lastEventId) this.last = lastEventId;
        see(data);
      });
    on('alive', () => undefined);
    on('head', (data) => this.begin(JSON.parse(data)));
    on('line', (data) => {
      this.provisional = null;
      this.take(JSON.parse(data));
    });
    on('agent', (data) => {
      const { agent, ended } = JSON.parse(data) as { agent: number; ended: string | null };
      const name = (this.run?.head.report.agents as { name?: string }[] | undefined)?.[agent]?.name;
      if (name) this.standings[name] = ended === null ? 'in' : ended === 'cut_off' ? 'lost' : 'ended';
    });
    on('provisional', (data) => (this.provisional = JSON.parse(data)));
    on('block', (data) => this.take(JSON.parse(data)));
    on('changed', (data) => this.changed(JSON.parse(data)));
    on('notice', (data) => this.noticed(JSON.parse(data)));
    on('example', (data) => (this.examples = [...this.examples, JSON.parse(data)].slice(-50)));
    on('fault', (data) => this.add({ at: null, kind: 'fault', text: both(JSON.parse(data).sentence) }));
    on('over', () => {
      this.over = true;
      this.draw();
      this.end();
      this.ended();
    });
    return source;
  }

  end(): void {
    this.source.close();
    clearInterval(this.watching);
    clearTimeout(this.drawing);
  }

  private begin(head: Head): void {
    if (this.run) this.run.head = head;
    else this.run = new Run(head);
    this.version++;
  }

  /** Collects lines to draw them together, since a late watcher receives many at once. */
  private take(line: object): void {
    this.waiting.push(line);
    this.drawing ??= setTimeout(() => this.draw(), 60);
  }

  private draw(): void {
    clearTimeout(this.drawing);
    this.drawing = undefined;
    if (this.waiting.length) this.run?.add(this.waiting);
    this.waiting = [];
    this.version++;
  }

  private add(what: Happened): void {
    this.happened = [...this.happened, what].slice(-200);
  }

  private changed(event: { at_ns: number; change: 'pause' | 'resume' | 'drain' | { rate: number } | { users: number } }): void {
    const { change } = event;
    this.changes = [...this.changes, event];
    this.run?.turned(event.at_ns / 1e9);
    let text: { en: string; zh: string };
    if (change === 'drain') {
      text = C.draining;
    } else if (change === 'pause' || change === 'resume') {
      this.paused = change === 'pause';
      text = this.paused ? C.paused : C.resumed;
    } else {
      const isRate = 'rate' in change;
      this.level = isRate ? change.rate : change.users;
      const n = isRate ? rate(change.rate) : String(change.users);
      const words = isRate ? C.changedRate : C.changedUsers;
      text = { en: words.en.replace('{n}', n), zh: words.zh.replace('{n}', n) };
    }
    this.add({ at: event.at_ns / 1e9, kind: 'change', text });
  }

  private noticed(notice: { at_ns?: number; en?: string; zh?: string; code?: string; agent?: string | null }): void {
    const standing = STANDINGS[notice.code ?? ''];
    if (notice.agent && standing) this.standings[notice.agent] = standing;
    if (!notice.en && !notice.code) return;
    this.add({ at: notice.at_ns === undefined ? null : notice.at_ns / 1e9, kind: 'notice', text: { en: notice.en ?? notice.code ?? '', zh: notice.zh ?? notice.code ?? '' } });
  }

  /** Returns the marks of charts. */
  get marks(): Mark[] {
    return this.happened.filter((one) => one.at !== null && one.kind !== 'fault').map((one) => ({ at: one.at ?? 0, kind: one.kind === 'change' ? 'change' : 'notice', text: one.text }));
  }
}

const both = (text: string): { en: string; zh: string } => ({ en: text, zh: text });
