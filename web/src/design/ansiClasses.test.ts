import Anser from 'anser';
import { expect, test } from 'vitest';
import { ansiClasses } from './ansiClasses';

test.each([
  ['31', 'ansi-red'],
  ['1;32', 'ansi-green bold'],
  ['38;5;9', 'ansi-bright-red'],
  ['38;5;196', 'ansi-red'],
  ['38;5;208', 'ansi-yellow'],
  ['38;5;82', 'ansi-green'],
  ['38;5;51', 'ansi-cyan'],
  ['38;5;21', 'ansi-blue'],
  ['38;5;201', 'ansi-magenta'],
  ['38;5;199', 'ansi-magenta'],
  ['38;5;16', 'ansi-white'],
  ['38;5;240', 'ansi-white'],
  ['38;2;10;200;30', 'ansi-green'],
  ['38;2;255;0;40', 'ansi-red'],
  ['41;97', 'ansi-red-bg'],
  ['48;5;236', 'ansi-white-bg'],
  ['7', 'ansi-white-bg'],
  ['7;32', 'ansi-green-bg'],
  ['4', 'underline'],
])('%s has the classes %s', (style, classes) => {
  const parts = Anser.ansiToJson(`\u001b[${style}mtext`, { use_classes: true, remove_empty: true });
  expect(ansiClasses(parts[0]!)).toBe(classes);
});
