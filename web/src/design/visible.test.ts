import { expect, test } from 'vitest';
import { visible } from './visible';

test.each([
  ['rm -rf / # \u202etxt.oh\u202c', 'rm -rf / # \\u{202e}txt.oh\\u{202c}'],
  ['a\u200bb\u2066c\u2069\ufeff', 'a\\u{200b}b\\u{2066}c\\u{2069}\\u{feff}'],
  ['x\u{e0041}', 'x\\u{e0041}'],
  ['echo ok\rrm -rf /\u001b[8m\u009b', 'echo ok\\u{d}rm -rf /\\u{1b}[8m\\u{9b}'],
  ['a\r\nb\r', 'a\r\nb\r'],
  ['a\u200eb\nc', 'a\\u{200e}b\nc'],
  ['\u05e9\u200f C++\u200e!', '\u05e9\u200f C++\u200e!'],
  ['if (x \u3164) {} \u{e0101}a \u845b\u{e0100}', 'if (x \\u{3164}) {} \\u{e0101}a \u845b\u{e0100}'],
  ['a\tb\nc \u05e9\u05dc\u05d5\u05dd \u{1f469}\u200d\u{1f4bb}', 'a\tb\nc \u05e9\u05dc\u05d5\u05dd \u{1f469}\u200d\u{1f4bb}'],
])('%j is shown as %j', (text, want) => {
  expect(visible(text)).toBe(want);
});
