import { expect, test } from 'vitest';
import { isText, keyMessage, pageAt, typedMessages } from './liveView';

const none = { altKey: false, ctrlKey: false, metaKey: false, shiftKey: false };

test('a place in the picture is a place on the page', () => {
  const box = { left: 100, top: 50, width: 640, height: 400 };
  const frame = { width: 1280, height: 800 };
  expect(pageAt(frame, box, { clientX: 100, clientY: 50 })).toEqual({ x: 0, y: 0 });
  expect(pageAt(frame, box, { clientX: 420, clientY: 250 })).toEqual({ x: 640, y: 400 });
  expect(pageAt(frame, box, { clientX: 9999, clientY: -5 })).toEqual({ x: 1280, y: 0 });
  expect(pageAt(frame, { ...box, width: 0 }, { clientX: 100, clientY: 50 })).toEqual({ x: 0, y: 0 });
});

test('a key that writes has its text', () => {
  const key = (key: string, more = {}) => keyMessage('down', { key, code: '', keyCode: 0, ...none, ...more });
  expect(key('a').text).toBe('a');
  expect(key('😀').text).toBe('😀');
  expect(key('Enter').text).toBe('\r');
  expect(key('ArrowLeft').text).toBe('');
  expect(key('c', { ctrlKey: true })).toMatchObject({ text: '', modifiers: 2 });
  expect(keyMessage('up', { key: 'a', code: 'KeyA', keyCode: 65, ...none }).text).toBe('');
});

test('text of input methods, of AltGr and of the clipboard is left to the text box', () => {
  const text = (key: string, more = {}, altGraph = false) => isText({ key, keyCode: 0, isComposing: false, getModifierState: (name) => altGraph && name === 'AltGraph', ...none, ...more });
  expect([text('a'), text('Enter'), text('c', { ctrlKey: true }), text('Tab')]).toEqual([false, false, false, false]);
  expect([text('Dead'), text('@', { ctrlKey: true, altKey: true }, true), text('v', { ctrlKey: true }), text('a', { isComposing: true }), text('Unidentified', { keyCode: 229 })]).toEqual(Array(5).fill(true));
});

test('a text that has become another one is typed', () => {
  const typed = (before: string, now: string) => typedMessages(before, now).map((m) => ('text' in m && 'key' in m ? m.key : 'text' in m ? `text ${String(m.text)}` : ''));
  expect(typed('_', '_a')).toEqual(['text a']);
  expect(typed('_ka', '_か')).toEqual(['Backspace', 'Backspace', 'Backspace', 'Backspace', 'text か']);
  expect(typed('_', '')).toEqual(['Backspace', 'Backspace']);
  expect(typed('_😀b', '_😀')).toEqual(['Backspace', 'Backspace']);
  expect(typed('_a', '_a')).toEqual([]);
});
