// Texts in the languages of the pages.

import type { Lang } from './view.svelte';

/** A text in both languages, with placeholders such as `{name}`. */
export interface Text {
  en: string;
  zh: string;
}

/**
 * Returns a text in a language, with its placeholders replaced by `facts`. `{n|one|many}` selects a word by the count
 * `n`.
 */
export function say(text: Text, lang: Lang, facts: Record<string, string | number> = {}): string {
  return text[lang].replace(/\{(\w+)(?:\|([^|}]*)\|([^}]*))?\}/g, (_, name: string, one?: string, many?: string) => {
    const fact = String(facts[name] ?? '');
    return one === undefined ? fact : fact === '1' ? one : (many ?? '');
  });
}

/** Creates a text; a shorthand for the dictionaries. */
export const t = (en: string, zh: string): Text => ({ en, zh });

/** Joins the members of a list as a language separates them; with `apart`, clauses. */
export function listed(all: readonly string[], lang: Lang, apart: 'members' | 'clauses' = 'members'): string {
  const [en, zh] = apart === 'members' ? [', ', '、'] : ['; ', '；'];
  return all.join(lang === 'zh' ? zh : en);
}
