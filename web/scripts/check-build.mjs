// Completes the build: gives first.js the name of its content, so that browsers keep it,
// and the files of other languages and of a conversation's page. Checks the build against the budget of the first
// load, has the first scripts compiled early, and makes the compressed copies that the server sends.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { eager } from './eager.mjs';

const budget = 200 << 10;
const dist = new URL('../dist/', import.meta.url).pathname;

let page = readFileSync(join(dist, 'index.html'), 'utf8');

const manifest = JSON.parse(readFileSync(join(dist, '.vite/manifest.json'), 'utf8'));
rmSync(join(dist, '.vite'), { recursive: true });
const files = new Set();
const collect = (name) => {
  const { file, css = [], imports = [] } = manifest[name];
  for (const one of [file, ...css]) if (!page.includes(`/${one}"`)) files.add(`/${one}`);
  imports.forEach(collect);
};
collect('src/conversation/ConversationPage.tsx');
const german = `/${manifest['src/i18n/de.ts'].file}`;
const first = readFileSync(join(dist, 'first.js'), 'utf8')
  .replace('const chunks = [];', `const chunks = ${JSON.stringify([...files])};`)
  .replace("de: ''", `de: '${german}'`);
for (const file of [german, ...files]) if (!first.includes(file)) throw new Error(`first.js has no place for ${file}`);
const firstName = `assets/first-${createHash('sha256').update(first).digest('base64url').slice(0, 8)}.js`;
rmSync(join(dist, 'first.js'));
writeFileSync(join(dist, firstName), first);
page = page.replace('src="/first.js"', `src="/${firstName}"`);
writeFileSync(join(dist, 'index.html'), page);
if (/<script(?![^>]*\bsrc=)/.test(page)) throw new Error('index.html has an inline script, which the policy forbids');
if (/(?:src|href)="(?!\/)/.test(page)) throw new Error('index.html refers to another host');

let size = 0;
for (const entry of readdirSync(dist, { recursive: true, withFileTypes: true })) {
  if (!entry.isFile() || !/\.(?:m?js|css|svg)$/.test(entry.name)) continue;
  const file = join(entry.parentPath, entry.name);
  if (/^(?:index|conversation)-.*\.js$/.test(entry.name)) writeFileSync(file, eager(readFileSync(file, 'utf8')));
  const small = gzipSync(readFileSync(file), { level: 9 });
  writeFileSync(`${file}.gz`, small);
  if (page.includes(`/${entry.name}"`) && entry.name.endsWith('.js')) size += small.length;
}
console.log(`web: script of the first load: ${(size / 1024).toFixed(1)} KiB compressed, budget ${budget >> 10} KiB`);
if (size === 0 || size > budget) process.exit(1);
