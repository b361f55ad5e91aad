// What must hold, said when it does not.

export function that(holds, what) {
  if (!holds) throw new Error(`does not hold: ${what}`);
}

export function same(found, wanted, what) {
  const [a, b] = [JSON.stringify(found), JSON.stringify(wanted)];
  that(a === b, `${what}\n  found  ${a}\n  wanted ${b}`);
}

/** Numbers that agree to a share of them. */
export function close(found, wanted, share, what) {
  const [a, b] = [found ?? null, wanted ?? null];
  if (a === null || b === null) return that(a === b, `${what}: ${a}, not ${b}`);
  that(Math.abs(a - b) <= share * Math.max(Math.abs(a), Math.abs(b)) + 1e-9, `${what}: ${a}, not ${b}`);
}
