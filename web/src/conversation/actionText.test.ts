import { describe, expect, it } from 'vitest';
import type { ActionEvent } from '../events/event';
import { actionText, editOf, lineCounts, ownSummary } from './actionText';

const action = (kind: string, fields: Record<string, unknown>, more: Partial<ActionEvent> = {}): ActionEvent =>
  ({ id: '1', kind: 'ActionEvent', timestamp: '', source: 'agent', tool_name: 'some_tool', tool_call_id: 'c', action: { kind, ...fields }, ...more });

describe('actionText', () => {
  it.each([
    [action('TerminalAction', { command: 'ls\n  -la' }), 'Run', 'ls ⏎ -la'],
    [action('FileEditorAction', { command: 'view', path: '/w/a.go' }), 'Read', 'a.go'],
    [action('FileEditorAction', { command: 'str_replace', path: '/etc/a' }), 'Edit', '/etc/a'],
    [action('MCPToolAction', { data: { a: 1 } }, { tool_name: 'add' }), 'add', '{"a":1}'],
    [action('NewAction', {}, { summary: 'Do it' }), 'Some tool', 'Do it'],
    [action('NewAction', {}, { action: null }), 'Some tool', ''],
  ])('%#', (e, verb, subject) => {
    expect(actionText(e, '/w')).toMatchObject({ verb, subject });
  });

  it('leaves out summaries that servers make of the arguments', () => {
    expect(ownSummary(action('X', {}, { summary: 'some_tool: {"a":1}' }))).toBe('');
  });
});

describe('editOf', () => {
  it('prefers what the file was before and after', () => {
    const e = action('FileEditorAction', { command: 'str_replace', path: '/a', old_str: 'x', new_str: 'y' });
    expect(editOf(e, null)).toEqual({ path: '/a', before: 'x', after: 'y' });
    expect(editOf(e, { old_content: '1\nx\n', new_content: '1\ny\n' })).toEqual({ path: '/a', before: '1\nx\n', after: '1\ny\n' });
    expect(editOf(action('TerminalAction', { command: 'ls' }), {})).toBeNull();
  });
});

describe('lineCounts', () => {
  it.each([
    ['', 'a\nb\n', 2, 0],
    ['a\nb\nc\n', 'a\nx\ny\nc\n', 2, 1],
    ['a\n', 'a\n', 0, 0],
    ['a\na\n', 'a\n', 0, 1],
  ])('%j to %j', (before, after, added, removed) => {
    expect(lineCounts({ path: '', before, after })).toEqual({ added, removed });
  });
});
