import { createElement } from 'react';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';

beforeEach(() => void vi.resetModules()); // another file may have loaded the texts in English

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
