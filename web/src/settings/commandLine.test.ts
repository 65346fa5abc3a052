import { describe, expect, it } from 'vitest';
import { line, words } from './commandLine';

describe('words', () => {
  it.each([
    ['uvx mcp-server-fetch', ['uvx', 'mcp-server-fetch']],
    ['  npx   -y a  ', ['npx', '-y', 'a']],
    ['db --path "/my data/a.db"', ['db', '--path', '/my data/a.db']],
    ["db '--path=/my data/a.db' x", ['db', '--path=/my data/a.db', 'x']],
    ['a --x="b c"d', ['a', '--x=b cd']],
    [`sh -c 'echo "hi  there"'`, ['sh', '-c', 'echo "hi  there"']],
    ['a ""', ['a', '']],
    ["a it's", ['a', "it's"]],
    ['', []],
  ])('%j', (text, want) => expect(words(text)).toEqual(want));
});

describe('line', () => {
  it.each([[['a', 'b c', '', 'echo "hi"', "it's"]], [[]]])('%j', (all) => expect(words(line(all))).toEqual(all));
});
