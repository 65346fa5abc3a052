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
  ['none', 'a\nb', '', 'a\nb'],
  ['a word', 'a red b', '2:31 5:', 'a \u001b[0;31mred\u001b[0m b'],
  ['code points', 'ä😀é.', '2:1;31 3:', 'ä😀\u001b[0;1;31mé\u001b[0m.'],
  ['of a longer text', 'ab', '1:31 9:', 'a\u001b[0;31mb\u001b[0m'],
  ['no styles', 'ab', '1:31m\u001b[2J', 'ab'],
  ['in another order', 'ab', '1:31 0:', 'ab'],
])('coloured: %s', (_, text, styles, want) => expect(coloured(text, styles)).toBe(want));

test('readPiece', () => {
  expect(readPiece('{"type":"output","action_id":"a","text":"t"}')).toEqual({ action: 'a', text: 't', cut: false });
  expect(readPiece('{"type":"output","action_id":"a","text":"t","cut":true}')?.cut).toBe(true);
  for (const other of ['', 'null', '[]', '{"type":"ended"}', '{"type":"output","action_id":1,"text":"t"}']) expect(readPiece(other)).toBeNull();
});
