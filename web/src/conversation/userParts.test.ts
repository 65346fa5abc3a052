import { describe, expect, it } from 'vitest';
import { codeWords, userParts } from './userParts';

const text = (text: string) => ({ code: false, text, language: '' });
const code = (text: string, language = '') => ({ code: true, text, language });

describe('userParts', () => {
  it.each([
    ['no code', 'a *b* `c`\n\n\n  d', [text('a *b* `c`\n\n\n  d')]],
    ['nothing', '', [text('')]],
    ['a file', 'Read it\n\na.txt:\n\n```\none\n\ntwo\n```', [text('Read it\n\na.txt:'), code('one\n\ntwo')]],
    ['a file with fences', 'a.md:\n\n````\n# T\n```sh\nls\n```\n\n````\n\nb.txt:\n\n```\nb\n```', [text('a.md:'), code('# T\n```sh\nls\n```', 'md'), text('b.txt:'), code('b')]],
    ['a file with tags', 'a.html:\n\n```\n<b>x</b>\n```\n\nand <i>this</i>', [text('a.html:'), code('<b>x</b>', 'html'), text('and <i>this</i>')]],
    ['lines of Windows', 'a\r\n\r\n```\r\nb\r\n```', [text('a'), code('b')]],
    ['a fence without an end', 'a\n\n```\nb', [text('a'), code('b')]],
    ['indented text', '    a\n\n```\nb\n```', [text('    a'), code('b')]],
    ['code with its language', 'Why?\n```go title=a\nx := 1\n```', [text('Why?'), code('x := 1', 'go')]],
    ['a list', '- a\n- b\n\n```\nc\n```', [text('- a\n- b'), code('c')]],
  ])('%s', (_, message, want) => {
    expect(userParts(message)).toEqual(want);
  });
});

it('shows words between backticks as code', () => {
  expect(codeWords('Run `ls -l` in `a`!')).toEqual([
    { code: false, text: 'Run ' },
    { code: true, text: 'ls -l' },
    { code: false, text: ' in ' },
    { code: true, text: 'a' },
    { code: false, text: '!' },
  ]);
  for (const text of ['', 'one ` alone', 'over `two\nlines`', '``']) expect(codeWords(text).every((p) => !p.code)).toBe(true);
});
