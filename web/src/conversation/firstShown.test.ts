import { expect, test } from 'vitest';
import { firstShown, most, step } from './firstShown';

const rows = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => ({ id: `${from + i}` }));

test.each<[string, number, number, number, string | null, number]>([
  ['a short thread is shown whole', 0, 10, step, null, 0],
  ['of a long one the newest rows', 0, 100, step, null, 60],
  ['more of it on request', 0, 100, 2 * step, '60', 20],
  ['while somebody reads no row goes away as others come', 0, 120, step, '60', 60],
  ['whatever is loaded before it', -100, 120, step, '60', 160],
  ['as long as there are not too many', 0, 60 + most + 5, step, '60', 65],
  ['a row that is gone holds nothing', 0, 100, step, 'x', 60],
])('%s', (_, from, to, shown, kept, want) => {
  expect(firstShown(rows(from, to), shown, kept)).toBe(want);
});
