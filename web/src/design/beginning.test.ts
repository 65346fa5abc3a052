import { expect, test } from 'vitest';
import { beginning } from './beginning';

const row = '| a | b | c |\n';

test('a text within the limit is whole', () => {
  for (const text of ['', 'a', 'a\nb\n', row.repeat(100)]) expect(beginning(text, 2000)).toEqual({ text, left: 0 });
});

test('cells of tables cost more than lines', () => {
  const table = beginning(row.repeat(10_000), 2000);
  expect(table).toEqual({ text: row.repeat(400), left: 9600 });
  expect(beginning('line\n'.repeat(10_000), 2000)).toEqual({ text: 'line\n'.repeat(2000), left: 8000 });
});

test('a long line is cut', () => {
  const text = 'x'.repeat(1_000_000);
  const found = beginning(text, 2000);
  expect(found.text.length).toBe(200_000);
  expect(found.left).toBe(1);
  expect(beginning(`first\n${text}`, 2000)).toEqual({ text: 'first\n', left: 1 });
});

test('a limit that grows comes to the end', () => {
  const text = row.repeat(10_000);
  let limit = 2000;
  let steps = 0;
  for (; beginning(text, limit).left > 0; limit *= 4) steps++;
  expect(steps).toBe(3);
});
