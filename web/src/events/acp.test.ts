import { expect, test } from 'vitest';
import type { ACPToolCall, Event } from '../api/event';
import { withoutGranted } from './acp';
import { after, before, newIndex } from './items';

const call = (id: string, status: string, more: Partial<ACPToolCall> = {}): ACPToolCall => ({
  id: `${id}-${status}`,
  kind: 'ACPToolCallEvent',
  timestamp: '2026-11-29T12:00:00',
  source: 'agent',
  tool_call_id: id,
  title: '`make`',
  status,
  tool_kind: 'execute',
  is_error: status === 'failed',
  ...more,
});

const output = { content: [{ type: 'terminal', terminal_id: 't' }, { type: 'content', content: { type: 'text', text: 'ok' } }] };

test('a call is one line with its result', () => {
  const events = [call('a', 'pending'), call('a', 'completed', output)];
  const items = after([], newIndex(), events);
  expect(items).toMatchObject([{ type: 'action', id: 'a-pending', action: { action: { kind: 'TerminalAction', command: 'make' } }, outcome: { state: 'done', observation: { content: [{ text: 'ok' }] } } }]);
  const index = newIndex();
  const newer = after([], index, events.slice(1));
  expect(newer).toMatchObject([{ type: 'action', id: 'a-completed' }]);
  const all = before(events.slice(0, 1), newer, index);
  expect(all).toMatchObject([{ type: 'action', id: 'a-pending', outcome: { state: 'done' } }]);
});

test('changes of files are edits', () => {
  const diff = (path: string, old_text: string | null) => ({ type: 'diff', path, old_text, new_text: 'b' });
  const kinds = [[diff('/x', 'a')], [diff('/x', null)], [diff('/x', 'a'), diff('/y', null)]].map((content, i) => {
    const [item] = after([], newIndex(), [call(`c${i}`, 'completed', { tool_kind: 'edit', content })]);
    return item?.type === 'action' ? [item.action.action?.kind, item.outcome?.state] : [];
  });
  expect(kinds).toEqual([
    ['EditAction', 'done'],
    ['WriteFileAction', 'done'],
    ['ApplyPatchAction', 'done'],
  ]);
  expect(after([], newIndex(), [call('f', 'failed', { content: null, raw_output: 'no', tool_kind: 'fetch' })])).toMatchObject([{ outcome: { observation: { is_error: true, content: [{ text: 'no' }] } } }]);
});

test('a permission is shown until it is given', () => {
  const ask = { id: 'p', kind: 'ActionEvent', timestamp: '', source: 'agent', tool_name: 'terminal', tool_call_id: 'acp-permission-1', action: { kind: 'TerminalAction', command: 'make' } } satisfies Event;
  const index = newIndex();
  const asked = after([], index, [ask]);
  expect(withoutGranted(asked)).toBe(asked);
  const given = after(asked, index, [{ id: 'o', kind: 'ObservationEvent', timestamp: '', source: 'environment', tool_name: 'terminal', action_id: 'p', observation: { kind: 'MCPToolObservation' } }]);
  expect(withoutGranted(given)).toEqual([]);
});
