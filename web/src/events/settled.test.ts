import { expect, test } from 'vitest';
import type { Event } from '../api/event';
import { settledAt } from './settled';

const action = (id: string) => ({ kind: 'ActionEvent', id, tool_call_id: `call-${id}`, timestamp: '', source: 'agent', tool_name: 't' }) as Event;
const result = (id: string, action_id: string) => ({ kind: 'ObservationEvent', id, action_id, timestamp: '', source: 'environment', tool_name: 't', observation: { kind: 'X' } }) as Event;
const state = (id: string) => ({ kind: 'ConversationStateUpdateEvent', id, key: 'stats', value: {}, timestamp: '', source: 'environment' }) as Event;

test('the results of all calls of an answer belong to each of them', () => {
  const events = [state('s'), action('a'), action('b'), state('u'), result('rb', 'b'), result('ra', 'a'), state('v'), action('c')];
  expect(settledAt(events, 'a')).toBe('ra');
  expect(settledAt(events, 'b')).toBe('ra');
  expect(settledAt(events, 's')).toBe('s');
  expect(settledAt(events, 'c')).toBe('c');
  expect(settledAt(events, 'unknown')).toBe('unknown');
});
