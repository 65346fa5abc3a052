import { expect, it } from 'vitest';
import { indented, resultText } from './json';

it.each([
  ['{"a":1,"b":[true,{"c":"x, {y}: \\"z\\""}]}', '{\n  "a": 1,\n  "b": [\n    true,\n    {\n      "c": "x, {y}: \\"z\\""\n    }\n  ]\n}'],
  ['[12345678901234567890, 1.50]', '[\n  12345678901234567890,\n  1.50\n]'],
  ['{"a":[],"b":{},"c":""}', '{\n  "a": [],\n  "b": {},\n  "c": ""\n}'],
  ['{"a":\n1}', '{"a":\n1}'],
  ['[WARN] no JSON]', '[WARN] no JSON]'],
  ['12', '12'],
])('indents %j', (text, want) => {
  expect(indented(text)).toBe(want);
});

it('leaves the output of commands as it was printed', () => {
  const content = [{ type: 'text' as const, text: '{"a":1}' }];
  expect(resultText({ kind: 'TerminalObservation', content })).toBe('{"a":1}');
  expect(resultText({ kind: 'MCPToolObservation', content })).toBe('{\n  "a": 1\n}');
});
