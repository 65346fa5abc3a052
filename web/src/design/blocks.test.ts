import { lexer } from 'marked';
import { expect, test } from 'vitest';
import { blocksOf } from './blocks';

const text = `# Title

A paragraph that goes on
over two lines, with \`code\`.

- one
- two

  still two
- three

\`\`\`go
func main() {

}
\`\`\`

| a | b |
|---|---|
| 1 | 2 |

Setext
------

> a quotation
> that goes on

1. first\r
2. second

The end`;

test('a text that grows has the blocks of the whole text, wherever it was cut', () => {
  const whole = lexer(text.replace(/\r\n?/g, '\n')).map((token) => token.raw);
  for (const step of [1, 2, 3, 7, 20, 100]) {
    let blocks: string[] = [];
    for (let end = step; end < text.length + step; end += step) blocks = blocksOf(text.slice(0, end), blocks);
    expect(blocks).toEqual(whole);
  }
});

test('blocks that are settled stay, those of another text do not', () => {
  const before = blocksOf('one\n\ntwo\n\nthree', []);
  expect(before).toEqual(['one', '\n\n', 'two', '\n\n', 'three']);
  expect(blocksOf('one\n\ntwo\n\nthree and more', before)).toEqual(['one', '\n\n', 'two', '\n\n', 'three and more']);
  expect(blocksOf('other', before)).toEqual(['other']);
});
