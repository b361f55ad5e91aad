// A built page filled as `brunt_assets::fill` fills it.

import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { deflateSync, gunzipSync } from 'node:zlib';

const dist = join(dirname(fileURLToPath(import.meta.url)), '../../dist');

export function filled(name, data, title, file) {
  const page = gunzipSync(readFileSync(join(dist, `${name}.html.gz`))).toString();
  const packed = deflateSync(`${JSON.stringify(data)}\n`).toString('base64');
  const said = { '@@LANG@@': 'en', '@@TITLE@@': title.replaceAll('&', '&amp;').replaceAll('<', '&lt;'), '@@DATA@@': packed };
  writeFileSync(file, Object.entries(said).reduce((text, [gap, of]) => text.replace(gap, () => of), page));
  return file;
}
