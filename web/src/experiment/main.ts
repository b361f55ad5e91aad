// The page of an experiment: unpacks its line and shows it.

import '../styles/base.css';
import { mount } from 'svelte';
import { looked } from '../lib/address';
import { setIcon } from '../lib/icon';
import { dataOf } from '../lib/packed';
import { View } from '../lib/view.svelte';
import App from './App.svelte';
import { experimentOf } from './page';

async function begin(): Promise<void> {
  const asked = looked(location.hash);
  const view = new View(document.documentElement.lang || navigator.language);
  if (asked.lang) view.lang = asked.lang;
  const { data, trouble } = await dataOf(experimentOf);
  const target = document.getElementById('app');
  if (!target) return;
  setIcon();
  mount(App, { target, props: { view, experiment: data, trouble } });
  document.documentElement.dataset.ready = 'yes';
  // The target of the fragment did not exist when the page was loaded.
  document.getElementById(asked.section || 'none')?.scrollIntoView();
}

void begin();
