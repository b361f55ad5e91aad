// Printing: a page is laid out for paper before it is printed.

import { flushSync } from 'svelte';
import type { View } from './view.svelte';

/** Lays the page out for paper, or for the screen again; done when it returns. */
export function printing(view: View, is: boolean): void {
  view.printing = is;
  document.documentElement.dataset.printing = is ? 'yes' : 'no';
  flushSync();
}
