import hljs from 'highlight.js/lib/common';
import { expect, test } from 'vitest';
import { kinds } from './kinds';
import { tokensOf } from './tokens';

function words(text: string, language: string): [string, string][] {
  const found = tokensOf(hljs.highlight(text, { language }).value);
  const all: [string, string][] = [];
  for (let i = 0; i < found.length; i += 3) all.push([text.slice(found[i], found[i + 1]), kinds[found[i + 2]!]!]);
  return all;
}

test.each([
  ['go', 'return "a<b>&\'" // <end>', [['return', 'keyword'], ['"a<b>&\'"', 'string'], ['// <end>', 'comment']]],
  ['javascript', 'const a = `x ${b} y`', [['const', 'keyword'], ['`x ', 'string'], [' y`', 'string']]],
  ['python', 'def total(a):\n    return 1', [['def', 'keyword'], ['total', 'name'], ['return', 'keyword'], ['1', 'number']]],
  ['diff', '-a\n+b', [['-a', 'deleted'], ['+b', 'inserted']]],
  ['plaintext', 'if x', []],
])('the words of %s', (language, text, want) => {
  for (const one of want) expect(words(text, language)).toContainEqual(one);
  if (want.length === 0) expect(words(text, language)).toEqual([]);
});
