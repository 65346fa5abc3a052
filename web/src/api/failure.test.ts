import { expect, it } from 'vitest';
import { reasonIn } from './failure';

it.each([
  ['a text', '{"detail":"there is no branch"}', 'there is no branch'],
  ['a violation', '{"detail":[{"loc":["body","title"],"msg":"Field required"}]}', 'title: Field required'],
  ['an object', '{"detail":{"message":"not now"}}', 'not now'],
  ['what failed at the server', '{"detail":"Internal Server Error","exception":"the Git host does not answer"}', 'the Git host does not answer'],
  ['no JSON', 'too many', 'too many'],
  ['a page', '<html>502</html>', ''],
])('says why: %s', (_, answer, reason) => {
  expect(reasonIn(answer)).toBe(reason);
});
