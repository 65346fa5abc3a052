// Runs all cases of the page in a browser and prints a line of JSON for each:
// name, ok, seconds, error. Each case saves a screenshot.
import { go } from './page.mjs';

for (const name of ['onboarding', 'conversation', 'settings', 'origins']) await import(`./${name}.mjs`);
await go();
