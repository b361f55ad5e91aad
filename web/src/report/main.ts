// The page of a report: unpacks its lines and shows them. `window.brunt.figures()` returns the numbers in the charts,
// for tests and scripts.

import '../styles/base.css';
import { mount } from 'svelte';
import { looked } from '../lib/address';
import { againstOf } from '../lib/contrast';
import { setIcon } from '../lib/icon';
import { dataOf, type Trouble } from '../lib/packed';
import { runsOf, type Span } from '../lib/run.svelte';
import { View } from '../lib/view.svelte';
import App from './App.svelte';
import { figures } from './figures';

async function begin(): Promise<void> {
  const asked = looked(location.hash);
  const view = new View(document.documentElement.lang || navigator.language);
  const { data, trouble: unread } = await dataOf((text) => ({ runs: runsOf(text), against: againstOf(text) }));
  const { runs, against } = data ?? { runs: [], against: [] };
  const trouble: Trouble | null = unread ?? (runs.length === 0 ? { why: 'broken', said: '0' } : null);
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
