import { expect, it } from 'vitest';
import { followsAfter } from './useFollowing';

// before and now are offsets, left is the rest below.
it.each([
  ['the user scrolls up a little', true, 500, 490, 10, false],
  ['the user scrolls up further', true, 500, 100, 400, false],
  ['the list has become shorter', true, 500, 300, 0, true],
  ['the user scrolls on far above', false, 100, 200, 300, false],
  ['the user comes close to the end', false, 400, 460, 40, true],
  ['the user is at the end, but for a fraction', false, 400, 499.5, 0.5, true],
  ['the list grows above what is seen', true, 500, 700, 90, true],
])('%s', (_, following, before, now, left, want) => {
  expect(followsAfter(following, before, now, left)).toBe(want);
});
