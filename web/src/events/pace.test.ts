import { expect, test } from 'vitest';
import { drawAt, type Past } from './pace';

const none = -Infinity;

const cases: { name: string; past: Partial<Past>; at: number }[] = [
  { name: 'what comes first is drawn with the next frame', past: { arrived: 1000 }, at: 1016 },
  { name: 'what comes after a while, too', past: { arrived: 1000, drawn: 500 }, at: 1016 },
  { name: 'a stream is drawn some times a second', past: { arrived: 1005, drawn: 1000 }, at: 1060 },
  { name: 'a page in the background is drawn seldom', past: { arrived: 1005, drawn: 1000, hidden: true }, at: 1205 },
  { name: 'after a key, once it is shown', past: { arrived: 1005, drawn: 800, key: 1000 }, at: 1024 },
  { name: 'and what comes right after that', past: { arrived: 1015, drawn: 800, key: 1000 }, at: 1031 },
  { name: 'but not where the next key may be near: after that one', past: { arrived: 1050, drawn: 800, key: 1000 }, at: 1166 },
  { name: 'not with each key', past: { arrived: 1030, drawn: 1000, key: 1010 }, at: 1300 },
  { name: 'with the one that comes in time', past: { arrived: 1030, drawn: 1000, key: 1190 }, at: 1214 },
];

test.each(cases)('$name', ({ past, at }) => {
  expect(drawAt({ arrived: 0, drawn: none, key: none, hidden: false, ...past })).toBe(at);
});
