import { describe, expect, test } from 'vitest';
import type { Event } from '../api/event';
import type { ActionItem } from './item';
import { answerOf, endingOf, openTasks, taskOf, underWay, type Opening } from './tasks';
import { append, empty } from './timeline';

const id = (n: number) => `00000000-0000-4000-8000-00000000000${n}`;
const task = (n: number, action: Record<string, unknown> = {}) =>
  ({ kind: 'ActionEvent', id: id(n), timestamp: `${n}`, source: 'agent', tool_name: 'task', tool_call_id: `call ${n}`, action: { kind: 'TaskAction', prompt: 'Count the files', ...action } }) as Event;
const ended = (n: number, observation: Record<string, unknown> = {}) =>
  ({
    kind: 'ObservationEvent', id: `${id(n)} ended`, timestamp: `${n}.5`, source: 'environment', tool_name: 'task', action_id: id(n),
    observation: { kind: 'TaskObservation', task_id: id(n), status: 'completed', is_error: false, content: [{ type: 'text', text: 'There are 3.' }], ...observation },
  }) as Event;
const failed = (n: number) => ({ kind: 'AgentErrorEvent', id: `${id(n)} failed`, timestamp: `${n}.5`, source: 'agent', tool_name: 'task', tool_call_id: `call ${n}`, error: 'No room.' }) as Event;
const rejected = (n: number) => ({ kind: 'UserRejectObservation', id: `${id(n)} rejected`, timestamp: `${n}.5`, source: 'user', tool_name: 'task', action_id: id(n), rejection_reason: 'No.' }) as Event;
const command = { kind: 'ActionEvent', id: 'c', timestamp: '0', source: 'agent', tool_name: 'terminal', tool_call_id: 'c', action: { kind: 'TerminalAction', command: 'ls' } } as Event;

const items = (...events: Event[]) => append(empty, events).items;
const one = (...events: Event[]) => items(...events)[0] as ActionItem;

describe('a task', () => {
  test.each([
    ['works in a conversation with the id of its action', {}, id(1)],
    ['goes on with an earlier one', { resume: id(2) }, id(2)],
    ['goes on with one whose id is written in another way', { resume: id(2).replaceAll('-', '').toUpperCase() }, id(2)],
    ['has no conversation if it is to go on with what is none', { resume: '../2' }, ''],
  ])('%s', (_, action, conversation) => {
    expect(taskOf(one(task(1, action)).action)?.conversation).toBe(conversation);
  });

  test('has a name, a description and a prompt, where they are texts', () => {
    expect(taskOf(one(task(1, { subagent_type: 'code-explorer', description: 'Count' })).action)).toEqual({ conversation: id(1), agent: 'code-explorer', description: 'Count', prompt: 'Count the files', resumed: false });
    expect(taskOf(one(task(1, { subagent_type: 3, description: null, resume: '', prompt: undefined })).action)).toMatchObject({ agent: '', description: '', prompt: '', resumed: false });
    expect(taskOf(one(command).action)).toBeNull();
  });

  test.each([
    ['is at work', [], null, ''],
    ['has finished', [ended(1)], 'finished', 'There are 3.'],
    ['has failed', [ended(1, { status: 'error', is_error: true })], 'failed', 'There are 3.'],
    ['was interrupted', [ended(1, { status: 'interrupted' })], 'interrupted', 'There are 3.'],
    ['had no sub-agent', [ended(1, { task_id: 'unknown', status: 'error', is_error: true })], 'unstarted', 'There are 3.'],
    ['could not be given', [failed(1)], 'failed', 'No room.'],
    ['was rejected', [rejected(1)], 'rejected', ''],
  ])('%s', (_, events, ending, answer) => {
    const item = one(task(1), ...events);
    expect([endingOf(item), answerOf(item)]).toEqual([ending, answer]);
  });
});

describe('open are', () => {
  const none = new Set<string>();
  const by = (change: Partial<Opening>): Opening => ({ chosen: new Map(), working: true, reading: false, ...change });
  const all = items(task(1), ended(1), task(2), task(3), command);

  test.each<[string, Opening, Set<string>, string[]]>([
    ['those at work', by({}), none, [id(2), id(3)]],
    ['none while the conversation does not work', by({ working: false }), none, []],
    ['those that the user has opened, and not those that the user has closed', by({ chosen: new Map([[id(1), true], [id(2), false]]) }), none, [id(1), id(3)]],
    ['those that have ended while the user reads', by({ reading: true, working: false }), new Set([id(1), id(2)]), [id(1), id(2)]],
    ['those that have ended no longer once the user is at the end', by({ working: false }), new Set([id(1)]), []],
    ['those that the user closes while reading no longer', by({ reading: true, working: false, chosen: new Map([[id(1), false]]) }), new Set([id(1)]), []],
  ])('%s', (_, opening, before, open) => {
    expect([...openTasks(all, opening, before)]).toEqual(open);
  });

  test('the same as before, if they are', () => {
    const before = openTasks(all, by({}), none);
    expect(openTasks(all, by({}), before)).toBe(before);
  });
});

test('under way are those without an outcome', () => {
  expect(underWay(items(task(1), ended(1), command, task(2), task(3), rejected(3))).map((item) => item.id)).toEqual([id(2)]);
});
