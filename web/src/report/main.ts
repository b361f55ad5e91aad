// The page of a report: unpacks its lines and shows them. `window.brunt.figures()` returns the numbers in the charts,
// for tests and scripts.

import '../styles/base.css';
import { mount } from 'svelte';
import { looked } from '../lib/address';
import { againstOf, type Against } from '../lib/contrast';
import { setIcon } from '../lib/icon';
import { runsOf, type Run, type Span } from '../lib/run.svelte';
import { View } from '../lib/view.svelte';
import App from './App.svelte';
import { figures } from './figures';

/** The reason why the lines cannot be shown. */
type Trouble = { why: 'old' } | { why: 'broken'; said: string };

async function unpacked(text: string): Promise<string> {
  const bytes = Uint8Array.from(atob(text.trim()), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
  return new Response(stream).text();
}

async function begin(): Promise<void> {
  const asked = looked(location.hash);
  const view = new View(document.documentElement.lang || navigator.language);
  let runs: Run[] = [];
  let against: Against[] = [];
  let trouble: Trouble | null = null;
  try {
    if (typeof DecompressionStream === 'undefined') trouble = { why: 'old' };
    else {
      const text = await unpacked(document.getElementById('lines')?.textContent ?? '');
      [runs, against] = [runsOf(text), againstOf(text)];
    }
    if (!trouble && runs.length === 0) trouble = { why: 'broken', said: '0' };
  } catch (error) {
    trouble = { why: 'broken', said: String(error) };
  }
  const target = document.getElementById('app');
  if (!target) return;
  setIcon();
  mount(App, { target, props: { view, runs, against, trouble } });
  Object.defineProperty(window, 'brunt', { value: Object.freeze({ figures: () => figures(runs, view.span), look: (span: Span | null) => view.look(span, runs[0].extent) }) });
  document.documentElement.dataset.ready = 'yes';
  // The target of the fragment did not exist when the page was loaded.
  document.getElementById(asked.section || 'none')?.scrollIntoView();
}

void begin();
