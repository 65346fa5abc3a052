// Checks the build against the budget of the first load, and makes the
// compressed copies that the server sends.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

const budget = 200 << 10;
const dist = new URL('../dist/', import.meta.url).pathname;

const page = readFileSync(join(dist, 'index.html'), 'utf8');
if (/<script(?![^>]*\bsrc=)/.test(page)) throw new Error('index.html has an inline script, which the policy forbids');
if (/(?:src|href)="(?!\/)/.test(page)) throw new Error('index.html refers to another host');

let first = 0;
for (const entry of readdirSync(dist, { recursive: true, withFileTypes: true })) {
  if (!entry.isFile() || !/\.(?:m?js|css|svg)$/.test(entry.name)) continue;
  const file = join(entry.parentPath, entry.name);
  const small = gzipSync(readFileSync(file), { level: 9 });
  writeFileSync(`${file}.gz`, small);
  if (page.includes(`/${entry.name}"`) && entry.name.endsWith('.js')) first += small.length;
}
console.log(`web: script of the first load: ${(first / 1024).toFixed(1)} KiB compressed, budget ${budget >> 10} KiB`);
if (first === 0 || first > budget) process.exit(1);
