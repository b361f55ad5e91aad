// Builds each page into one file that loads nothing: its script and style stand in it, and its policy names their hashes and nothing else. What a
// page asks for later is a script beside it, whose hash its policy names as well.
// `node build.mjs` writes them into `dist`, compressed, as brunt carries them; `node build.mjs --check` writes nothing and says which of them is not what
// the sources give. The same sources give the same text. How small it gets is up to the compressor, so a file that holds the text already stays as it is.

import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync, gzipSync } from 'node:zlib';
import { svelte } from '@sveltejs/vite-plugin-svelte';
import { build } from 'vite';

const root = dirname(fileURLToPath(import.meta.url));
const into = join(root, 'dist');
const check = process.argv.includes('--check');

/** The pages: what each begins with, what its policy allows beyond its own script and style, and the scripts it asks for later: `NAME.js` of `src/PAGE/NAME.ts`. */
const PAGES = [
  { name: 'report', connect: "'none'", later: [] },
  { name: 'experiment', connect: "'none'", later: [] },
  { name: 'console', connect: "'self'", later: ['editor', 'experiment', 'forms'] },
].filter(({ name }) => existsSync(join(root, 'src', name, 'main.ts')));

/** A script in a page ends where its text says so. */
const enclosed = (script) => script.replaceAll('</script', '<\\/script').replaceAll('<!--', '<\\!--');

const hash = (text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

const classes = new Map();

/** The class of a component's own rules: shorter than Svelte's own, since a page names nine hundred. */
function cssHash({ hash, css }) {
  const name = `s${hash(css).slice(0, 4)}`;
  if ((classes.get(name) ?? css) !== css) throw new Error(`two styles have the class ${name}: take more of the hash`);
  classes.set(name, css);
  return name;
}

async function built(page, entry, format) {
  const output = await build({
    root,
    configFile: false,
    logLevel: 'warn',
    plugins: [svelte({ configFile: false, emitCss: true, compilerOptions: { cssHash } })],
    build: {
      write: false,
      target: 'es2022',
      minify: 'esbuild',
      cssCodeSplit: false,
      modulePreload: false,
      rollupOptions: {
        input: join(root, 'src', page, `${entry}.ts`),
        output: { inlineDynamicImports: true, ...format },
        preserveEntrySignatures: 'exports-only',
      },
    },
    esbuild: { legalComments: 'none' },
  });
  const files = (Array.isArray(output) ? output : [output]).flatMap((one) => one.output);
  const script = files.filter((file) => file.type === 'chunk').map((file) => file.code);
  const style = files.filter((file) => file.type === 'asset' && file.fileName.endsWith('.css')).map((file) => file.source);
  return { script: script.join('\n').trim(), style: style.join('\n').trim() };
}

/** The rules of a minified style sheet, each with the braces around it. */
function rules(style) {
  const found = [];
  let [depth, from] = [0, 0];
  for (let i = 0; i < style.length; i++) {
    if (style[i] === '{') depth++;
    if (style[i] === '}' && --depth === 0) {
      found.push(style.slice(from, i + 1).trim());
      from = i + 1;
    }
  }
  return found;
}

const current = new Set();
const stale = [];

/** Puts a file into `dist`, or says that it is not there as it should be. */
function put(name, text) {
  const file = join(into, `${name}.gz`);
  current.add(`${name}.gz`);
  console.log(`${name} ${text.length} characters`);
  if (existsSync(file) && gunzipSync(readFileSync(file)).toString() === text) return;
  if (check) stale.push(`${name}.gz`);
  else writeFileSync(file, gzipSync(text, { level: 9 }));
}

mkdirSync(into, { recursive: true });
const template = readFileSync(join(root, 'src', 'page.html'), 'utf8');
for (const { name, connect, later } of PAGES) {
  const whole = await built(name, 'main', { format: 'iife' });
  const script = enclosed(whole.script);
  const [scripts, styles] = [[script], [whole.style]];
  for (const entry of later) {
    // What it exports becomes a global of this name.
    const { script: beside, style: alone } = await built(name, entry, { format: 'iife', name: `brunt_${entry}` });
    put(`${entry}.js`, beside);
    scripts.push(beside);
    // A style of its own would be one that the policy does not know. What both use stands there already.
    const known = new Set(styles.flatMap(rules));
    styles.push(rules(alone).filter((rule) => !known.has(rule)).join(''));
  }
  const style = styles.join('\n').trim();
  const policy = [
    "default-src 'none'",
    `script-src ${scripts.map(hash).join(' ')}`,
    `style-src ${hash(style)}`,
    'img-src data: blob:',
    `connect-src ${connect}`,
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');
  const page = template.replace('%POLICY%', () => policy).replace('%STYLE%', () => style).replace('%SCRIPT%', () => script);
  put(`${name}.html`, page);
}
stale.push(...readdirSync(into).filter((name) => !current.has(name)));
if (check && stale.length > 0) {
  console.error(`web/dist/${stale[0]} is not what the sources give: run \`npm run build\` in web/ and commit it`);
  process.exit(1);
}
