import { describe, expect, test } from 'vitest';
import { coloured, ending, joined, overwritten, readPiece, type LiveOutput } from './output';

const red = '\u001b[31m';
const off = '\u001b[0m';

describe('joined', () => {
  const piece = (text: string, cut = false) => ({ action: 'a', text, cut });
  test('pieces follow each other', () => {
    expect([piece('one\n'), piece(red), piece('two')].reduce<LiveOutput | undefined>(joined, undefined)).toEqual({ text: `one\n${red}two`, cut: false });
  });
  test('a cut stays', () => {
    expect(joined(joined(undefined, piece('a', true)), piece('b'))).toEqual({ text: 'ab', cut: true });
  });
  test('of a long text the end is kept, in whole lines', () => {
    const line = `${'x'.repeat(99)}\n`;
    let live: LiveOutput | undefined;
    for (let i = 0; i < 5000; i++) live = joined(live, piece(line));
    expect(live?.cut).toBe(true);
    expect(live?.text.length).toBeLessThanOrEqual(128 * 1024);
    expect(live?.text.length).toBeGreaterThan(60 * 1024);
    expect(live?.text.replaceAll(line, '')).toBe('');
  });
});

test('ending', () => {
  expect(ending('abc', 3)).toBe('abc');
  expect(ending('ab\ncd\nef', 6)).toBe('cd\nef'); // from a line on
  expect(ending('abcdef\n', 3)).toBe('ef\n');
  expect(ending('abcdef', 3)).toBe('def');
});

test.each([
  ['no return', 'a\nb', 'a\nb'],
  ['lines of a terminal', 'a\r\nb\r\r\n', 'a\nb\n'],
  ['a progress bar', 'get\n10%\r50%\r100%\r\nend', 'get\n100%\nend'],
  ['one that waits', '10%\r50%\r', '50%'],
  ['keeps colours', `${red}10%\r50%${off}`, `${red}50%${off}`],
])('overwritten: %s', (_, text, want) => expect(overwritten(text)).toBe(want));

test.each([
  ['the whole result', { text: `${red}a${off}\r\nb\r\n`, cut: false }, 'a\nb', `${red}a${off}\nb`],
  ['cut', { text: `${red}a${off}`, cut: true }, 'a', null],
  ['another result', { text: `${red}a${off}`, cut: false }, 'a\n[more]', null],
  ['not watched', undefined, 'a', null],
])('coloured: %s', (_, live, result, want) => expect(coloured(live, result)).toBe(want));

test('readPiece', () => {
  expect(readPiece('{"type":"output","action_id":"a","text":"t"}')).toEqual({ action: 'a', text: 't', cut: false });
  expect(readPiece('{"type":"output","action_id":"a","text":"t","cut":true}')?.cut).toBe(true);
  for (const other of ['', 'null', '[]', '{"type":"ended"}', '{"type":"output","action_id":1,"text":"t"}']) expect(readPiece(other)).toBeNull();
});
