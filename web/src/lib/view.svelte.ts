// The state of the view: language, theme, the span that all charts and tables follow, and the time under the pointer.
// Charts and tables depend only on this and on their data, not on its source.

import { wallClock } from './format';
import type { Span } from './run.svelte';

export type Lang = 'en' | 'zh';
export type Theme = 'light' | 'dark';
/** The chosen theme; `auto` follows the system. */
export type ThemeChoice = Theme | 'auto';

const KEPT = 'brunt-view';

interface Kept {
  lang?: Lang;
  theme?: ThemeChoice;
}

/** Returns the stored choices; a local file may have no storage. */
function kept(): Kept {
  try {
    return JSON.parse(localStorage.getItem(KEPT) ?? '{}') as Kept;
  } catch {
    return {};
  }
}

export class View {
  lang: Lang = $state('en');
  choice: ThemeChoice = $state('auto');
  private dark: boolean = $state(false);
  /** The selected part of the run; null for all of it. */
  span: Span | null = $state(null);
  /** The time under the pointer, in seconds. */
  cursor: number | null = $state(null);
  /** The time at which a selection by keyboard began, in seconds. */
  anchor: number | null = $state(null);
  /** The ends of the steps in which a run comes, to which selections are extended; null if it comes in seconds. */
  edges: readonly number[] | null = null;
  /** The time of zero on the axes, in milliseconds since 1970; null if it is unknown or there are several runs. */
  began: number | null = $state(null);
  /** Whether the page is printed: completely, and in the light theme. */
  printing: boolean = $state(false);
  /** The opened row of each table. */
  opened: Record<string, number> = $state({});
  /** The language of the page for whoever has chosen none. */
  readonly usual: Lang;
  /** Announcement for screen readers, such as that something was copied. */
  said: string = $state('');

  constructor(lang: string, kindly = kept()) {
    this.usual = lang.toLowerCase().startsWith('zh') ? 'zh' : 'en';
    this.lang = kindly.lang ?? this.usual;
    this.choice = kindly.theme ?? 'auto';
    const system = globalThis.matchMedia?.('(prefers-color-scheme: dark)');
    this.dark = system?.matches ?? false;
    system?.addEventListener('change', (event) => (this.dark = event.matches));
  }

  /** Formats a time of the run as time of day: `14:05:33`; empty if it is unknown. */
  wall(seconds: number): string {
    return this.began === null ? '' : wallClock(this.began + seconds * 1000);
  }

  get theme(): Theme {
    if (this.printing) return 'light';
    return this.choice === 'auto' ? (this.dark ? 'dark' : 'light') : this.choice;
  }

  /** Opens a row of a table, or closes it. */
  open(table: string, row: number | null): void {
    const { [table]: _, ...others } = this.opened;
    this.opened = row === null ? others : { ...others, [table]: row };
  }

  /** Sets language and theme, and stores them if the browser permits it. */
  choose(lang: Lang, theme: ThemeChoice): void {
    this.lang = lang;
    this.choice = theme;
    try {
      localStorage.setItem(KEPT, JSON.stringify({ lang, theme }));
    } catch {
      // Nothing is stored.
    }
  }

  /** Selects a part, rounded to whole seconds; clears the selection if it is shorter than one or covers everything. */
  look(span: Span | null, extent: Span): void {
    if (!span) {
      this.span = null;
      return;
    }
    const [low, high] = [Math.floor(Math.min(span.from, span.to) + 1e-6), Math.ceil(Math.max(span.from, span.to) - 1e-6)];
    const edges = this.edges ?? [];
    const from = Math.max(extent.from, edges.filter((edge) => edge <= low + 1e-6).pop() ?? low);
    const to = Math.min(extent.to, edges.find((edge) => edge >= high - 1e-6) ?? high);
    this.span = to - from >= 1 && (from > extent.from || to < extent.to) ? { from, to } : null;
  }
}
