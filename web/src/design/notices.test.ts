import { expect, test } from 'vitest';
import { news } from './notices';

test('only changes to what matters are news', () => {
  const before = new Map([
    ['a', 'running'],
    ['b', 'finished'],
    ['c', 'running'],
  ]);
  const now = [
    { id: 'a', title: 'One', status: 'finished', updatedAt: '2026-01-01T00:00:00Z' },
    { id: 'b', title: 'Two', status: 'finished', updatedAt: '2026-01-03T00:00:00Z' },
    { id: 'c', title: 'Three', status: 'paused', updatedAt: '2026-01-03T00:00:00Z' },
    { id: 'd', title: 'Old', status: 'error', updatedAt: '2026-01-01T00:00:00Z' },
    { id: 'e', title: 'New', status: 'error', updatedAt: '2026-01-03T00:00:00Z' },
  ];
  expect(news(before, now, Date.parse('2026-01-02T00:00:00Z'))).toEqual([
    { id: 'a', text: '“One” has finished.' },
    { id: 'e', text: '“New” has failed.' },
  ]);
});
