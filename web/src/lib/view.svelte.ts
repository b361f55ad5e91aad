// What a reader looks at: language, theme, the span that all charts and tables follow, the moment under the pointer. Charts and tables know
// this and their own data, and nothing of where that came from.

import { wallClock } from './format';
import type { Span } from './run.svelte';

export type Lang = 'en' | 'zh';
export type Theme = 'light' | 'dark';
/** What is chosen; `auto` follows the system. */
export type ThemeChoice = Theme | 'auto';

const KEPT = 'brunt-view';

interface Kept {
  lang?: Lang;
  theme?: ThemeChoice;
}

/** A file opened by a double-click may have no storage. */
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
  /** The part of the run that is looked at; null: all of it. */
  span: Span | null = $state(null);
  /** The moment under the pointer, in seconds. */
  cursor: number | null = $state(null);
  /** Where a selection by keyboard began. */
  anchor: number | null = $state(null);
  /** When the moments of its axes count from, in milliseconds since 1970; null: nobody knows, or it is of several runs. */
  began: number | null = $state(null);
  /** The page is being printed: on paper, in the light, all of it. */
  printing: boolean = $state(false);
  /** What was just copied, for those who listen to the page. */
  said: string = $state('');

  constructor(lang: string, kindly = kept()) {
    this.lang = kindly.lang ?? (lang.toLowerCase().startsWith('zh') ? 'zh' : 'en');
    this.choice = kindly.theme ?? 'auto';
    const system = globalThis.matchMedia?.('(prefers-color-scheme: dark)');
    this.dark = system?.matches ?? false;
    system?.addEventListener('change', (event) => (this.dark = event.matches));
  }

  /** A moment as a clock on the reader's wall has it: `14:05:33`; nothing where it is not known. */
  wall(seconds: number): string {
    return this.began === null ? '' : wallClock(this.began + seconds * 1000);
  }

  get theme(): Theme {
    if (this.printing) return 'light';
    return this.choice === 'auto' ? (this.dark ? 'dark' : 'light') : this.choice;
  }

  /** Keeps the choice for the next page, where the browser lets it. */
  choose(lang: Lang, theme: ThemeChoice): void {
    this.lang = lang;
    this.choice = theme;
    try {
      localStorage.setItem(KEPT, JSON.stringify({ lang, theme }));
    } catch {
      // Nothing is kept.
    }
  }

  /** Looks at a part, in whole seconds; nothing that is shorter than one. */
  look(span: Span | null, extent: Span): void {
    if (!span) {
      this.span = null;
      return;
    }
    const from = Math.max(extent.from, Math.floor(Math.min(span.from, span.to) + 1e-6));
    const to = Math.min(extent.to, Math.ceil(Math.max(span.from, span.to) - 1e-6));
    this.span = to - from >= 1 && (from > extent.from || to < extent.to) ? { from, to } : null;
  }
}
