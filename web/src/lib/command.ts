// A command line as it was given.

/** Quotes a word so that a shell would take it back. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** Formats a command line for a shell. */
export function commandLine(words: readonly string[]): string {
  return words.map(quoted).join(' ');
}
