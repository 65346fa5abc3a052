import { expect, test } from 'vitest';
import { misleads, toMarkup } from './markup';

test('text is read as Markdown, HTML is shown, and images are links', () => {
  expect(toMarkup('*a* __b__ ~~c~~ https://a.example')).toBe('<p><em>a</em> <strong>b</strong> <del>c</del> <a href="https://a.example">https://a.example</a></p>\n');
  expect(toMarkup('<b>x</b>')).not.toContain('<b>');
  expect(toMarkup('![dot](https://a.example/p.png)')).toBe('<p><a href="https://a.example/p.png">dot</a></p>\n');
  expect(toMarkup('- [x] a\n- [ ] b\n\n1. [x] c\n\n   d')).toMatch(/<li>☑ a<\/li>\n<li>☐ b<\/li>[^]*<p>☑ c<\/p>/);
});

// Without a bound, each of these takes the browser many seconds.
test.each([
  ['emphasis without an end', ('*a_'.repeat(300) + ' ').repeat(60)],
  ['deletions without an end', '~~a~b '.repeat(20_000)],
  ['emphasis in a word', '*a_'.repeat(12_000)],
  ['a long word before an @', 'a.'.repeat(60_000) + '@'],
])('after %s the rest is read', (_, text) => {
  expect(toMarkup(`${text}\n\n# End`).slice(-13)).toBe('<h1>End</h1>\n');
});

test('each text has its own bound', () => {
  toMarkup('*a_ '.repeat(10_000));
  expect(toMarkup('*a*')).toBe('<p><em>a</em></p>\n');
});

test.each([
  ['the guide', 'https://a.example/', false],
  ['https://a.example/b?c', 'https://a.example/b?c', false],
  ['a.example', 'https://a.example/', false],
  ['A.EXAMPLE/b', 'https://a.example/b', false],
  ['https://a.example:443/', 'https://a.example/', false],
  ['https://github.com/login', 'https://a.example/login', true],
  ['github.com', 'https://a.example/', true],
  ['github.com⁄login', 'https://a.example/', true], // a fraction slash
  ['git\u200bhub.com', 'https://a.example/', true],
  ['sign in at https://github.com/login', 'https://a.example/', true],
  ['see www.github.com', 'https://a.example/', true],
  ['see https://a.example/b', 'https://a.example/b', false],
  ['here', 'https://github.com@a.example/', true],
  ['here', 'https://xn--pple-43d.com/', true],
  ['a@b.example', 'mailto:a@b.example', false],
])('the text %s of a link to %s misleads: %s', (text, address, want) => {
  expect(misleads(text, new URL(address))).toBe(want);
});
