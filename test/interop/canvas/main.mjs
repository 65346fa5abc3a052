// Drives the page in a browser, case by case, and prints a line of JSON for
// each: name, ok, seconds, error. Every case leaves a picture.
import { go } from './page.mjs';

for (const name of ['first', 'work', 'settings', 'others']) await import(`./${name}.mjs`);
await go();
