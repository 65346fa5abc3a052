import { expect, test } from 'vitest';
import { typed, withCtrl } from './TerminalKeys';

test('keys of a terminal', () => {
  expect(typed('Escape', false)).toBe('\u001b');
  expect(typed('Tab', true)).toBe('\t');
  expect(typed('ArrowUp', false)).toBe('\u001b[A');
  expect(typed('ArrowLeft', true)).toBe('\u001bOD');
  expect(typed('|', false)).toBe('|');
  expect([withCtrl('c'), withCtrl('C'), withCtrl('['), withCtrl('ä'), withCtrl('ls')]).toEqual(['\u0003', '\u0003', '\u001b', 'ä', 'ls']);
});
