import { expect, it } from 'vitest';
import { reasonIn, withoutFlags } from './failure';

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

it.each([
  ['check the address (--base-url) and that the server runs', 'check the address and that the server runs'],
  ['run it again to go on, or raise the limit (--max-iterations)', 'run it again to go on, or raise the limit'],
  ['it is not visible in the sandbox (--read DIR shows a directory): no such file', 'it is not visible in the sandbox: no such file'],
  ['git push --force (rejected) (see --help)', 'git push --force (rejected) (see --help)'],
])('names no flags: %s', (message, want) => {
  expect(withoutFlags(message)).toBe(want);
});
