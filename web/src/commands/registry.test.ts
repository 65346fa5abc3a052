import { expect, test } from 'vitest';
import { keyOf } from './registry';

const press = (key: string, modifiers: Partial<Record<'ctrlKey' | 'metaKey' | 'altKey' | 'shiftKey', boolean>> = {}) =>
  keyOf({ key, ctrlKey: false, metaKey: false, altKey: false, shiftKey: false, ...modifiers });

test('keys have one name on all systems', () => {
  expect(press('k', { ctrlKey: true })).toBe('Ctrl+K');
  expect(press('k', { metaKey: true })).toBe('Ctrl+K');
  expect(press('?', { shiftKey: true })).toBe('?');
  expect(press('F', { ctrlKey: true, shiftKey: true })).toBe('Ctrl+Shift+F');
  expect(press('Enter', { shiftKey: true })).toBe('Shift+Enter');
});
