import { afterEach, beforeEach, expect, test, vi } from 'vitest';

beforeEach(() => void vi.resetModules()); // another file may have loaded the texts in English

afterEach(() => {
  vi.unstubAllGlobals();
  vi.resetModules();
});

test('formats follow the language', async () => {
  const now = Date.parse('2026-03-05T12:00:00Z');
  const times = ['2026-03-05T11:59:30Z', '2026-03-05T11:55:00Z', '2026-03-05T10:00:00Z', '2026-03-04T11:00:00Z', '2026-03-03T11:00:00Z', '2026-02-03T00:00:00Z', '2025-12-03T00:00:00Z', '2025-02-03T00:00:00Z', '2020-02-03T00:00:00Z', 'never'];
  vi.stubGlobal('document', { documentElement: { lang: 'de' } });
  const { ago, bytes, money, tokens } = await import('./format');
  expect(money(1234.5)).toBe('1.234,50\u00a0$');
  expect(bytes(1536)).toBe('1,5 KB');
  expect(tokens(12_345)).toBe('12,3\u00a0Tsd.');
  expect(times.map((time) => ago(time, now))).toEqual(['jetzt', 'vor 5 Min.', 'vor 2 Std.', 'gestern', 'vor 2 Tagen', 'vor einem Monat', 'vor 3 Monaten', 'vor einem Jahr', 'vor 6 Jahren', '']);
  vi.resetModules();
  vi.stubGlobal('document', { documentElement: { lang: 'en' } });
  const english = await import('./format');
  expect([0, 0.001, 0.12, 1234.5].map(english.money)).toEqual(['$0.00', '<$0.01', '$0.12', '$1,234.50']);
  expect([0.0099, 0.00123, 1e-9].map(english.smallMoney)).toEqual(['$0.0099', '$0.0012', '$0.0000000010']);
  expect([0, 999, 1000, 12_345, 128_000, 999_949, 999_950, 1_250_000].map(english.tokens)).toEqual(['0', '999', '1K', '12.3K', '128K', '999.9K', '1M', '1.3M']);
  expect(english.bytes(1536)).toBe('1.5 KB');
  expect(times.map((time) => english.ago(time, now))).toEqual(['now', '5 min. ago', '2 hr. ago', 'yesterday', '2 days ago', '1 month ago', '3 months ago', '1 year ago', '6 years ago', '']);
});
