// Loading of the parts that most visitors never need, on demand: the forms, the plan editor, and the drawing of experiments.
// The text of a part is fetched from the console and run as a script of this page. The page's policy contains the hash of exactly
// that text, so no other text would run.

import type * as Editing from './editor';
import type * as Drawing from './experiment';
import type * as Filling from './forms';

declare global {
  interface Window {
    brunt_editor?: typeof Editing;
    brunt_experiment?: typeof Drawing;
    brunt_forms?: typeof Filling;
  }
}

/** Returns a loader of a part, which loads it once; after a failure, the next call tries again. */
function part<T>(name: string, made: () => T | undefined): () => Promise<T> {
  let asked: Promise<T> | undefined;
  async function loaded(): Promise<T> {
    const answer = await fetch(`/${name}.js`);
    if (!answer.ok) throw new Error(`${name}.js: ${answer.status}`);
    const script = document.createElement('script');
    script.textContent = await answer.text();
    document.head.append(script);
    script.remove();
    const found = made();
    if (!found) throw new Error(`${name}.js: not the one of this page`);
    return found;
  }
  return () => {
    asked ??= loaded().catch((why) => {
      asked = undefined;
      throw why;
    });
    return asked;
  };
}

export const editing = part('editor', () => window.brunt_editor);
export const filling = part('forms', () => window.brunt_forms);
export const drawing = part('experiment', () => window.brunt_experiment);
