// What a reader looks at, in the fragment of the address, so that a link shows the same:
// `#names&span=12-30&lang=zh&open=names-3`. The first part is the section.

import type { Span } from './run.svelte';
import type { Lang } from './view.svelte';

export interface Looked {
  /** The section; empty for the beginning of the page. */
  section: string;
  span: Span | null;
  lang: Lang | null;
  /** The opened row of each table. */
  opened: Record<string, number>;
}

/** Parses a fragment, with or without its `#`; what is not understood is left out. */
export function looked(hash: string): Looked {
  const [section, ...parts] = hash.replace(/^#/, '').split('&');
  const found: Looked = { section: decoded(section), span: null, lang: null, opened: {} };
  for (const part of parts) {
    const [name, value = ''] = part.split('=');
    const span = /^(-?[\d.]+)-(-?[\d.]+)$/.exec(value);
    if (name === 'span' && span && Number(span[1]) < Number(span[2])) found.span = { from: Number(span[1]), to: Number(span[2]) };
    if (name === 'lang' && (value === 'en' || value === 'zh')) found.lang = value;
    const row = /^([a-z]+)-(\d+)$/.exec(value);
    if (name === 'open' && row) found.opened[row[1]] = Number(row[2]);
  }
  return found;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return '';
  }
}

/** Formats a fragment; empty if everything is as at first. */
export function fragment({ section, span, lang, opened }: Looked): string {
  const parts = [
    ...(span ? [`span=${+span.from.toFixed(3)}-${+span.to.toFixed(3)}`] : []),
    ...Object.entries(opened).map(([table, row]) => `open=${table}-${row}`),
    ...(lang ? [`lang=${lang}`] : []),
  ];
  return section || parts.length ? `#${[encodeURIComponent(section), ...parts].join('&')}` : '';
}
