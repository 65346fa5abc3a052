import { expect, test } from 'vitest';
import type { Event } from '../api/event';
import { lineOf } from './lines';
import { append, empty } from './timeline';

const base = (id: string) => ({ id, timestamp: id, source: 'agent' as const });
const events = [
  { ...base('prompt'), kind: 'SystemPromptEvent' },
  { ...base('hello'), kind: 'MessageEvent', llm_message: { role: 'user', content: [{ type: 'text', text: 'hello' }] } },
  { ...base('act'), kind: 'ActionEvent', tool_name: 'terminal', tool_call_id: 'c1', thought: [{ type: 'text', text: 'first' }], action: { kind: 'TerminalAction', command: 'ls' } },
  { ...base('seen'), kind: 'ObservationEvent', tool_name: 'terminal', action_id: 'act', observation: { kind: 'X', content: [] } },
  { ...base('bad'), kind: 'ActionEvent', tool_name: 'terminal', tool_call_id: 'c2', action: null },
  { ...base('failed'), kind: 'AgentErrorEvent', tool_name: 'terminal', tool_call_id: 'c2', error: 'no' },
  { ...base('stats'), kind: 'ConversationStateUpdateEvent', key: 'stats', value: {} },
] as Event[];

test.each([
  ['hello', 'hello'],
  ['act', 'act'],
  ['act:thought', 'act:thought'],
  ['seen', 'act'],
  ['failed', 'bad'],
  ['prompt', 'hello'],
  ['stats', 'bad'],
  ['unknown', ''],
])('%s is shown in the line %s', (event, line) => {
  expect(lineOf(append(empty, events), event)).toBe(line);
});

test('a result whose action is not there has its own line', () => {
  expect(lineOf(append(empty, events.slice(3)), 'seen')).toBe('seen');
});
