// The forms of a new run and of a new experiment, as a script of their own: who only looks never needs them. It has a copy of
// everything it uses, so it is told here how it is looked at, and tells what the page must know.

import { mount, unmount } from 'svelte';
import { View, type Lang, type ThemeChoice } from '../lib/view.svelte';
import Forms from './Forms.svelte';

/** What is filled in. */
export interface Blank {
  kind: 'run' | 'experiment';
  /** What it begins as: a run or an experiment of the library. */
  from: string | null;
  /** There is a fleet, whose agents can be chosen. */
  fleet: boolean;
}

/** What the page is told. */
export interface Told {
  /** Something was started, and stands there. */
  go: (to: string) => void;
  /** The console no longer knows this browser. */
  out: () => void;
}

export interface FormsDrawing {
  look: (lang: Lang, theme: ThemeChoice) => void;
  end: () => void;
}

export function draw(target: HTMLElement, blank: Blank, told: Told): FormsDrawing {
  const view = new View('en');
  const app = mount(Forms, { target, props: { view, blank, told } });
  return { look: (lang, theme) => ([view.lang, view.choice] = [lang, theme]), end: () => void unmount(app) };
}
