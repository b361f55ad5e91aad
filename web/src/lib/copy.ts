// Export of tables and charts.

/** Formats rows of cells as CSV. Text that a spreadsheet would take for a formula is prefixed with an apostrophe. */
export function csv(rows: readonly (readonly (string | number | null)[])[]): string {
  const cell = (value: string | number | null): string => {
    if (value === null) return '';
    if (typeof value === 'number') return String(value);
    const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return rows.map((row) => row.map(cell).join(',')).join('\n') + '\n';
}

/** Formats rows of cells as a Markdown table, whose heading is the first row. */
export function markdown(rows: readonly (readonly string[])[], right: readonly boolean[]): string {
  const cell = (text: string): string => text.replace(/[\\|*_`<[\]~&]/g, '\\$&').replace(/\s*\n\s*/g, ' ');
  const line = (cells: readonly string[]): string => `| ${cells.map(cell).join(' | ')} |`;
  const rule = `|${right.map((is) => (is ? '---:' : '---')).join('|')}|`;
  return [line(rows[0]), rule, ...rows.slice(1).map(line)].join('\n') + '\n';
}

/**
 * Copies text to the clipboard. Falls back to `execCommand`, because the clipboard API may be unavailable in a local
 * file.
 */
export async function toClipboard(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.createElement('textarea');
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand('copy');
    area.remove();
    return done;
  }
}

/** Makes the browser save a file. */
export function download(name: string, blob: Blob): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** Renders a drawing as PNG, at twice its size on the screen. */
export async function png(svg: string, width: number, height: number): Promise<Blob> {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  const canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = [width * 2, height * 2];
  const context = canvas.getContext('2d');
  if (!context) throw new Error('no canvas');
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve, reject) => canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error('no picture')))));
}
