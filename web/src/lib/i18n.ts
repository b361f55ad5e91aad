// Sentences in every language the pages have.

import type { Lang } from './view.svelte';

/** A text in both languages; `{name}` is filled in. */
export interface Text {
  en: string;
  zh: string;
}

/** A text in a language, its facts filled in: a fact is text and nothing else. `{n|one|many}` goes with a count. */
export function say(text: Text, lang: Lang, facts: Record<string, string | number> = {}): string {
  return text[lang].replace(/\{(\w+)(?:\|([^|}]*)\|([^}]*))?\}/g, (_, name: string, one?: string, many?: string) => {
    const fact = String(facts[name] ?? '');
    return one === undefined ? fact : fact === '1' ? one : (many ?? '');
  });
}

/** Shorthand for the dictionary. */
export const t = (en: string, zh: string): Text => ({ en, zh });
