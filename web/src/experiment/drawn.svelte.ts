// What is drawn of an experiment within another page, and how it is looked at.

import { View } from '../lib/view.svelte';
import type { Experiment } from './page';

export class Drawn {
  readonly view = new View('en');
  data: Experiment | null = $state.raw(null);
}
