// Loading of the plan editor on demand, since most users never open it. Its text is fetched from the console and run as
// a script of this page. The page's policy contains the hash of exactly that text, so no other text would run.

import type * as Editing from './editor';

declare global {
  interface Window {
    brunt_editor?: typeof Editing;
  }
}

let asked: Promise<typeof Editing> | undefined;

async function loaded(): Promise<typeof Editing> {
  const answer = await fetch('/editor.js');
  if (!answer.ok) throw new Error(`editor.js: ${answer.status}`);
  const script = document.createElement('script');
  script.textContent = await answer.text();
  document.head.append(script);
  script.remove();
  if (!window.brunt_editor) throw new Error('editor.js: not the one of this page');
  return window.brunt_editor;
}

/** Loads the editor once; after a failure, the next call tries again. */
export function later(): Promise<typeof Editing> {
  asked ??= loaded().catch((why) => {
    asked = undefined;
    throw why;
  });
  return asked;
}
