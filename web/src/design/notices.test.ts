import { expect, test } from 'vitest';
import { news } from './notices';

test('only changes to what matters are news', () => {
  const before = new Map([
    ['a', 'running'],
    ['b', 'finished'],
    ['c', 'running'],
  ]);
  const now = [
    { id: 'a', title: 'One', status: 'finished' },
    { id: 'b', title: 'Two', status: 'finished' },
    { id: 'c', title: 'Three', status: 'paused' },
    { id: 'd', title: 'New', status: 'error' },
  ];
  expect(news(before, now)).toEqual([{ id: 'a', text: '“One” has finished.' }]);
});
