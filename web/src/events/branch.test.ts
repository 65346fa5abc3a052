import { expect, test } from 'vitest';
import { beginning, behind, go, noPath, undone } from './branch';
import type { Event } from '../api/event';

const message = (id: string, parent_id?: string) => ({ kind: 'MessageEvent', id, parent_id, timestamp: '', source: 'user' }) as Event;
const state = (id: string, key: string, value: unknown) => ({ kind: 'ConversationStateUpdateEvent', id, key, value, timestamp: '', source: 'environment' }) as Event;

const gone = (...events: Event[]) => [...undone(events, events.reduce(go, noPath))].sort();

test('a conversation that was never rewound has one branch', () => {
  expect(gone(message('a', beginning), state('s', 'stats', {}), message('b', 'a'), message('c', 'b'))).toEqual([]);
  expect(gone(message('a'), message('b'))).toEqual([]); // of a program that names no parents
  expect(gone()).toEqual([]);
});

test('a rewind hides what came after, and the way forward shows it again', () => {
  const all = [message('a', beginning), message('b', 'a'), message('c', 'b'), state('s', 'leaf_event_id', 'a')];
  expect(gone(...all)).toEqual(['b', 'c']);
  expect(gone(...all, message('d', 'a'))).toEqual(['b', 'c']);
  expect(gone(...all, message('d', 'a'), message('e', 'd'))).toEqual(['b', 'c']);
  expect(gone(...all, state('t', 'leaf_event_id', 'c'))).toEqual([]);
  expect(gone(...all, message('d', 'a'), state('t', 'leaf_event_id', 'c'))).toEqual(['d']);
  expect(gone(...all.slice(0, 3), state('s', 'leaf_event_id', null))).toEqual(['a', 'b', 'c']);
});

test('a head before the loaded window hides all of it', () => {
  expect(gone(message('m', 'l'), message('n', 'm'), state('s', 'leaf_event_id', 'a'))).toEqual(['m', 'n']);
});

test('of a part whose place is known, what is in no active part was undone', () => {
  const events = [message('d', 'c'), state('s', 'stats', {}), message('e', 'd'), message('f', 'e')];
  const place = (active: [number, number][]) => [...undone(events, { ...events.reduce(go, noPath), placed: { event: 'e', at: 6, active } })].sort();
  expect(place([[1, 100]])).toEqual([]);
  expect(place([[1, 4], [7, 100]])).toEqual(['e']);
  expect(place([[1, 3], [90, 100]])).toEqual(['d', 'e', 'f']);
  expect(place([[4, 6]])).toEqual(['f']);
});

test('windows that are put in front lead to the same path', () => {
  const all = [message('a', beginning), message('b', 'a'), state('s', 'leaf_event_id', 'a'), message('c', 'a'), state('t', 'stats', {}), message('d', 'c'), state('u', 'leaf_event_id', 'b')];
  for (let at = 0; at <= all.length; at++) {
    const [older, newer] = [all.slice(0, at), all.slice(at)];
    expect(behind(newer.reduce(go, noPath), newer, older)).toEqual(all.reduce(go, noPath));
  }
});
