// The data of a page, which stand in it compressed.

/** Returns the text of base64 characters that hold a zlib stream. */
export async function unpacked(text: string): Promise<string> {
  const bytes = Uint8Array.from(atob(text.trim()), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
  return new Response(stream).text();
}

/** The reason why the data of a page cannot be shown: an old browser, or data that it does not understand. */
export type Trouble = { why: 'old' } | { why: 'broken'; said: string };

/** What `read` makes of the data of this page, or why it makes nothing of them. */
export async function dataOf<T>(read: (text: string) => T): Promise<{ data: T; trouble: null } | { data: null; trouble: Trouble }> {
  if (typeof DecompressionStream === 'undefined') return { data: null, trouble: { why: 'old' } };
  try {
    return { data: read(await unpacked(document.getElementById('lines')?.textContent ?? '')), trouble: null };
  } catch (error) {
    return { data: null, trouble: { why: 'broken', said: String(error) } };
  }
}
