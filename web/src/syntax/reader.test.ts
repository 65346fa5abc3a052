import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { largest, Reader, type Question } from './reader';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

// workers makes workers that answer with the length of a text, or never.
function workers() {
  const all: { asked: Question[]; ended: boolean }[] = [];
  const start = () => {
    const port = {
      asked: [] as Question[],
      ended: false,
      onmessage: null as ((e: MessageEvent) => void) | null,
      onerror: null,
      postMessage(question: Question) {
        port.asked.push(question);
        if (question.text === 'endless') return;
        queueMicrotask(() => port.onmessage?.(new MessageEvent('message', { data: Uint32Array.of(0, question.text.length, 1) })));
      },
      terminate: () => void (port.ended = true),
    };
    all.push(port);
    queueMicrotask(() => port.onmessage?.(new MessageEvent('message', { data: 'ready' })));
    return port;
  };
  return { all, reader: new Reader(start) };
}

test('a text is read once, by a worker that starts with the first one', async () => {
  const { all, reader } = workers();
  expect(all).toHaveLength(0);
  expect(await reader.read({ text: 'abc', language: 'go' })).toEqual(Uint32Array.of(0, 3, 1));
  expect(await reader.read({ text: 'abc', language: 'go' })).toEqual(Uint32Array.of(0, 3, 1));
  expect(await reader.read({ text: 'abc', language: 'c' })).toEqual(Uint32Array.of(0, 3, 1));
  expect(all).toHaveLength(1);
  expect(all[0]?.asked.map((one) => one.language)).toEqual(['go', 'c']);
});

test('large texts and texts without a language stay plain, and start no worker', async () => {
  const { all, reader } = workers();
  expect(await reader.read({ text: 'a'.repeat(largest + 1), language: 'go' })).toBeNull();
  expect(await reader.read({ text: 'a', language: '' })).toBeNull();
  expect(all).toHaveLength(0);
});

test('a text that takes too long stays plain, and the next one is read', async () => {
  const { all, reader } = workers();
  const endless = reader.read({ text: 'endless', language: 'go' });
  const next = reader.read({ text: 'ab', language: 'go' });
  await vi.runAllTimersAsync();
  expect(await endless).toBeNull();
  expect(await next).toEqual(Uint32Array.of(0, 2, 1));
  expect(all.map((one) => one.ended)).toEqual([true, false]);
});

test('texts that are used no longer are forgotten', async () => {
  const { all, reader } = workers();
  for (let i = 0; i < 12; i++) await reader.read({ text: `${i}`.padEnd(largest), language: 'go' });
  await reader.read({ text: '11'.padEnd(largest), language: 'go' });
  expect(all[0]?.asked).toHaveLength(12);
  await reader.read({ text: '0'.padEnd(largest), language: 'go' });
  expect(all[0]?.asked).toHaveLength(13);
});
