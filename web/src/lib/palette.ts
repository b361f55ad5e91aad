// Colours by meaning, read from the style sheet, because a canvas cannot use its variables. They are distinguishable
// with any colour vision, and quantiles also by lightness.

const CACHE = new Map<string, string>();
let cachedFor = '';

/** Returns the colour of a style sheet variable in a theme. */
export function color(name: string, theme: string): string {
  if (cachedFor !== theme) {
    CACHE.clear();
    cachedFor = theme;
  }
  let found = CACHE.get(name);
  if (found === undefined) {
    found = getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim() || '#888';
    CACHE.set(name, found);
  }
  return found;
}

type Rgb = [number, number, number];

/** Colours of heat, from zero to the maximum, in even steps of lightness, so that they are readable without colour. */
const HEAT: Record<string, Rgb[]> = {
  light: [[238, 242, 247], [190, 212, 230], [116, 169, 207], [54, 124, 181], [23, 80, 138], [9, 41, 84], [5, 18, 40]],
  dark: [[22, 28, 38], [27, 52, 84], [30, 88, 132], [40, 130, 160], [104, 176, 168], [190, 216, 160], [253, 246, 190]],
};

/** Returns the colour of a share between 0 and 1. */
export function heat(share: number, theme: string): Rgb {
  const steps = HEAT[theme] ?? HEAT.light;
  const at = Math.min(Math.max(share, 0), 1) * (steps.length - 1);
  const low = Math.min(Math.floor(at), steps.length - 2);
  const mix = (i: number): number => Math.round(steps[low][i] + (steps[low + 1][i] - steps[low][i]) * (at - low));
  return [mix(0), mix(1), mix(2)];
}

/** Colours of overlaid runs. */
export const RUNS = ['run-a', 'run-b', 'run-c', 'run-d', 'run-e', 'run-f'];
