import { expect, test } from 'vitest';
import type { Event } from '../api/event';
import { append, empty } from '../events/timeline';
import { excerpt, hits } from './hits';

const message = (id: string, text: string) => ({ kind: 'MessageEvent', id, timestamp: id, source: 'agent', llm_message: { role: 'assistant', content: [{ type: 'text', text }] } }) as Event;
const action = (id: string, command: string) => ({ kind: 'ActionEvent', id, timestamp: id, source: 'agent', tool_name: 'terminal', tool_call_id: id, action: { kind: 'TerminalAction', command } }) as Event;
const result = (id: string, action_id: string, text: string) =>
  ({ kind: 'ObservationEvent', id, timestamp: id, source: 'environment', tool_name: 'terminal', action_id, observation: { kind: 'X', content: [{ type: 'text', text }] } }) as Event;

const none = new Set<string>();

test('what is loaded and what the server found are one list, newest first, each once', () => {
  const { items } = append(empty, [action('5', 'grep needle'), result('6', '5', 'hay'), message('7', 'A Needle'), action('8', 'ls'), result('9', '8', 'needle.txt')]);
  const found = [result('9', '8', 'needle.txt'), message('7', 'A Needle'), action('5', 'grep needle'), result('3', '2', 'needle'), action('2', 'find needle'), message('1', 'needle')];
  expect(hits(items, none, 'needle', found)).toEqual(['8', '7', '5', '2', '1']);
  expect(hits(items, none, 'needle', [])).toEqual(['8', '7', '5']);
  expect(hits(items, new Set(['7']), 'needle', [])).toEqual(['8', '5']);
  expect(hits(items, none, 'terminalaction', [])).toEqual([]);
});

test('of what was said before an action and the action, only what has the text is a hit', () => {
  const said = { ...action('5', 'ls'), thought: [{ type: 'text', text: 'A needle is here.' }] } as Event;
  const { items } = append(empty, [said, result('6', '5', 'hay')]);
  expect(hits(items, none, 'needle', [said])).toEqual(['5:thought']);
});

test('a hit has its text and what is around it', () => {
  const { items } = append(empty, [message('1', `${'x'.repeat(100)} a\nNeedle here`), action('2', 'ls'), result('3', '2', 'hay')]);
  expect(excerpt(items, [], '1', 'needle')).toEqual({ before: `… ${'x'.repeat(21)} a `, text: 'Needle', after: ' here' });
  expect(excerpt(items, [], '2', 'needle')).toBeNull();
  expect(excerpt(items, [message('9', 'an old needle (a.b)')], '9', '(a.b)')).toEqual({ before: 'an old needle ', text: '(a.b)', after: '' });
});

test('an error of a call is the hit of its action', () => {
  const failed = { kind: 'AgentErrorEvent', id: '6', timestamp: '6', source: 'agent', tool_name: 'terminal', tool_call_id: '5', error: 'a needle' } as Event;
  const { items } = append(empty, [action('5', 'ls'), failed]);
  expect(hits(items, none, 'needle', [failed])).toEqual(['5']);
});
