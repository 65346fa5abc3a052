import { expect, test } from 'vitest';
import { drawAt, type Past } from './pace';

const none = -Infinity;

const cases: { name: string; past: Partial<Past>; at: number }[] = [
  { name: 'what comes first is drawn with the next frame', past: { arrived: 1000 }, at: 1016 },
  { name: 'what comes after a while, too', past: { arrived: 1000, drawn: 500 }, at: 1016 },
  { name: 'a stream is drawn some times a second', past: { arrived: 1005, drawn: 1000 }, at: 1060 },
  { name: 'a page in the background is drawn seldom', past: { arrived: 1005, drawn: 1000, hidden: true }, at: 1205 },
  { name: 'after a key, once it is shown', past: { arrived: 1005, drawn: 900, key: 1000 }, at: 1024 },
  { name: 'not so long after a key that the next one may be near', past: { arrived: 1050, drawn: 900, key: 1000 }, at: 1300 },
  { name: 'not twice after a key', past: { arrived: 1030, drawn: 1024, key: 1000 }, at: 1280 },
  { name: 'not with each of keys that come fast', past: { arrived: 1030, drawn: 1000, key: 1010 }, at: 1250 + 30 },
];

test.each(cases)('$name', ({ past, at }) => {
  expect(drawAt({ arrived: 0, drawn: none, key: none, hidden: false, ...past })).toBe(at);
});
