import { describe, expect, it } from 'vitest';
import { userParts } from './userParts';

const text = (text: string) => ({ code: false, text });
const code = (text: string) => ({ code: true, text });

describe('userParts', () => {
  it.each([
    ['no code', 'a *b* `c`\n\n\n  d', [text('a *b* `c`\n\n\n  d')]],
    ['nothing', '', [text('')]],
    ['a file', 'Read it\n\na.txt:\n\n```\none\n\ntwo\n```', [text('Read it\n\na.txt:'), code('one\n\ntwo')]],
    ['a file with fences', 'a.md:\n\n````\n# T\n```sh\nls\n```\n\n````\n\nb.txt:\n\n```\nb\n```', [text('a.md:'), code('# T\n```sh\nls\n```'), text('b.txt:'), code('b')]],
    ['a file with tags', 'a.html:\n\n```\n<b>x</b>\n```\n\nand <i>this</i>', [text('a.html:'), code('<b>x</b>'), text('and <i>this</i>')]],
    ['lines of Windows', 'a\r\n\r\n```\r\nb\r\n```', [text('a'), code('b')]],
    ['a fence without an end', 'a\n\n```\nb', [text('a'), code('b')]],
    ['indented text', '    a\n\n```\nb\n```', [text('    a'), code('b')]],
    ['a list', '- a\n- b\n\n```\nc\n```', [text('- a\n- b'), code('c')]],
  ])('%s', (_, message, want) => {
    expect(userParts(message)).toEqual(want);
  });
});
