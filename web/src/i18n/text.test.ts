import { createElement } from 'react';
import { afterEach, expect, test, vi } from 'vitest';

afterEach(() => {
  vi.unstubAllGlobals();
  vi.resetModules();
});

async function texts(lang: string) {
  vi.stubGlobal('document', { documentElement: { lang } });
  return import('./text');
}

test('English is in the code', async () => {
  const { plural, tr } = await texts('en');
  expect(tr('Remove {name}', { name: 'a{b}' })).toBe('Remove a{b}');
  expect(tr('Remove {name}', { other: 1 })).toBe('Remove {name}');
  expect([0, 1, 2, 1234].map((n) => plural(n, '1 file changed', '{n} files changed'))).toEqual(['0 files changed', '1 file changed', '2 files changed', '1,234 files changed']);
});

test('another language has its own forms, and falls back to English', async () => {
  const { language, number, plural, tr } = await texts('de');
  expect(language).toBe('de');
  expect(tr('What should be done?')).toBe('Was soll getan werden?');
  expect(tr('Rename {title}', { title: 'x' })).toBe('x umbenennen');
  expect(tr('A text that no catalogue has')).toBe('A text that no catalogue has');
  const told = (n: number) => plural(n, '1 earlier event was summarised for the model', '{n} earlier events were summarised for the model');
  expect(told(1)).toBe('Ein früheres Ereignis wurde für das Modell zusammengefasst');
  expect(told(1234)).toBe('1.234 frühere Ereignisse wurden für das Modell zusammengefasst');
  expect(plural(1, '1 such thing', '{n} such things')).toBe('1 such thing');
  expect([0, 999, 1234, 1234567].map((n) => number(n))).toEqual(['0', '999', '1.234', '1.234.567']);
  expect(number(-1234.56, 1)).toBe('-1.234,6');
});

test('a sentence has elements in its language’s order', async () => {
  await texts('de');
  const { trNodes } = await import('./nodes');
  const { renderToStaticMarkup } = await import('react-dom/server');
  expect(renderToStaticMarkup(trNodes('{path} becomes what it was at the last commit. This cannot be undone.', { path: createElement('code', null, '<b>{path}') }))).toBe(
    '<code>&lt;b&gt;{path}</code> wird wieder, was es beim letzten Commit war. Das lässt sich nicht zurücknehmen.',
  );
});

test('an unknown language is English', async () => {
  expect((await texts('xx')).language).toBe('en');
  expect((await texts('constructor')).language).toBe('en');
});

test('formats follow the language', async () => {
  const now = Date.parse('2026-03-05T12:00:00Z');
  const times = ['2026-03-05T11:59:30Z', '2026-03-05T11:55:00Z', '2026-03-05T10:00:00Z', '2026-03-04T11:00:00Z', '2026-03-03T11:00:00Z', '2026-02-03T00:00:00Z', '2025-12-03T00:00:00Z', '2025-02-03T00:00:00Z', '2020-02-03T00:00:00Z', 'never'];
  vi.stubGlobal('document', { documentElement: { lang: 'de' } });
  const { ago, bytes, money, tokens } = await import('../design/format');
  expect(money(1234.5)).toBe('1.234,50\u00a0$');
  expect(bytes(1536)).toBe('1,5 KB');
  expect(tokens(12_345)).toBe('12,3\u00a0Tsd.');
  expect(times.map((time) => ago(time, now))).toEqual(['jetzt', 'vor 5 Min.', 'vor 2 Std.', 'gestern', 'vor 2 Tagen', 'vor einem Monat', 'vor 3 Monaten', 'vor einem Jahr', 'vor 6 Jahren', '']);
  vi.resetModules();
  vi.stubGlobal('document', { documentElement: { lang: 'en' } });
  const english = await import('../design/format');
  expect([0, 0.001, 0.12, 1234.5].map(english.money)).toEqual(['$0.00', '<$0.01', '$0.12', '$1,234.50']);
  expect([0.0099, 0.00123, 1e-9].map(english.smallMoney)).toEqual(['$0.0099', '$0.0012', '$0.0000000010']);
  expect([0, 999, 1000, 12_345, 128_000, 999_949, 999_950, 1_250_000].map(english.tokens)).toEqual(['0', '999', '1K', '12.3K', '128K', '999.9K', '1M', '1.3M']);
  expect(english.bytes(1536)).toBe('1.5 KB');
  expect(times.map((time) => english.ago(time, now))).toEqual(['now', '5 min. ago', '2 hr. ago', 'yesterday', '2 days ago', '1 month ago', '3 months ago', '1 year ago', '6 years ago', '']);
});
