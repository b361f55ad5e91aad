// The drawing of an experiment, as a script of its own. It has a copy of everything it uses, so what it draws follows what
// it is told here, and nothing else.

import { mount, unmount } from 'svelte';
import { Drawn } from '../experiment/drawn.svelte';
import DrawnExperiment from '../experiment/DrawnExperiment.svelte';
import type { Experiment } from '../experiment/page';
import type { Lang, ThemeChoice } from '../lib/view.svelte';

export interface ExperimentDrawing {
  show: (data: Experiment) => void;
  look: (lang: Lang, theme: ThemeChoice) => void;
  end: () => void;
}

/** Draws into an element; `said` gets what is to be announced. */
export function draw(target: HTMLElement, said: (text: string) => void): ExperimentDrawing {
  const drawn = new Drawn();
  const app = mount(DrawnExperiment, { target, props: { drawn, said } });
  return {
    show: (data) => (drawn.data = data),
    look: (lang, theme) => ([drawn.view.lang, drawn.view.choice] = [lang, theme]),
    end: () => void unmount(app),
  };
}
