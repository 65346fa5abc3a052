// axe sees no colour of a highlight: this test has the contrast of all of them.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const css = readFileSync('src/design/tokens.css', 'utf8');
const [light = '', , dark = ''] = css.split(/(?=@media \(prefers|:root\[data-theme='dark'\])/);

function variable(theme: string, name: string): number {
  const found = new RegExp(`${name}: #([0-9a-f]{6});`).exec(theme)?.[1];
  if (!found) throw new Error(`there is no ${name}`);
  const [r, g, b] = [0, 2, 4].map((at) => {
    const part = parseInt(found.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r! + 0.7152 * g! + 0.0722 * b!;
}

const colours = [...readFileSync('src/syntax/syntax.css', 'utf8').matchAll(/color: var\((--[\w-]+)\)/g)].map(([, name]) => name!);

test.each([
  ['light', light],
  ['dark', dark],
])('the colours of code can be read on all that is behind code: %s', (_, theme) => {
  expect(colours.length).toBeGreaterThan(5);
  for (const colour of colours) {
    for (const behind of ['--bg', '--bg-sunken', '--good-soft', '--bad-soft']) {
      const [a, b] = [variable(theme, colour), variable(theme, behind)];
      const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
      expect.soft(contrast, `${colour} on ${behind}`).toBeGreaterThanOrEqual(4.5);
    }
  }
});
