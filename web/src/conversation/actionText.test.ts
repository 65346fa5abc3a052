import { describe, expect, it } from 'vitest';
import type { ActionEvent } from '../api/event';
import { actionText, editsOf, lineCounts, ownSummary, relative } from './actionText';

const action = (kind: string, fields: Record<string, unknown>, more: Partial<ActionEvent> = {}): ActionEvent =>
  ({ id: '1', kind: 'ActionEvent', timestamp: '', source: 'agent', tool_name: 'some_tool', tool_call_id: 'c', action: { kind, ...fields }, ...more });

describe('actionText', () => {
  it.each([
    [action('TerminalAction', { command: 'ls\n  -la' }), 'Run', 'ls ⏎ -la'],
    [action('FileEditorAction', { command: 'view', path: '/w/a.go' }), 'Read', 'a.go'],
    [action('FileEditorAction', { command: 'str_replace', path: '/etc/a' }), 'Edit', '/etc/a'],
    [action('WriteFileAction', { file_path: '/w/a.go' }), 'Write', 'a.go'],
    [action('EditAction', { file_path: 'a.go' }), 'Edit', 'a.go'],
    [action('ReadFileAction', { file_path: '/w/a.go' }), 'Read', 'a.go'],
    [action('ListDirectoryAction', { dir_path: '/w/src' }), 'List', 'src'],
    [action('ApplyPatchAction', { patch: '*** Begin Patch\n*** Update File: /w/a.go\n*** Move to: b.go\n-x\n*** Delete File: c\n*** End Patch' }), 'Apply a patch', 'a.go, b.go, c'],
    [action('MCPToolAction', { data: { a: 1, b: 'two' } }, { tool_name: 'add_two' }), 'Add two', 'a: 1, b: two'],
    [action('MCPToolAction', { data: {} }, { tool_name: 'add' }), 'Add', ''],
    [action('NewAction', {}, { summary: 'Do it' }), 'Some tool', 'Do it'],
    [action('NewAction', {}, { action: null }), 'Some tool', ''],
  ])('%#', (e, verb, subject) => {
    expect(actionText(e, '/w')).toMatchObject({ verb, subject });
  });

  // Of forks and of shared conversations, the workspace is another one.
  const other = '/home/a/.local/share/deft/workspaces/4NcD_x-1/project';
  it.each([
    ['/w/a.go', 'a.go'],
    [`${other}/src/a.go`, 'src/a.go'],
    ['/workspace/project/a.go', 'a.go'],
    [other, other],
    ['/home/a/project/a.go', '/home/a/project/a.go'],
  ])('path: %s', (path, want) => expect(relative(path, '/w')).toBe(want));
  it.each([
    ['cd /w && ls', 'ls'],
    [`cd "${other}" && cat ${other}/a.go`, 'cat ./a.go'],
    ['ls /workspace/project', 'ls .'],
    ['ls /w2 /a/w /w/b --root=/w', 'ls /w2 /a/w ./b --root=.'],
    ['cd /w/sub && ls', 'cd ./sub && ls'],
    ['./run.sh', './run.sh'],
    [`${'/'.repeat(100_000)}`, '/'.repeat(400)],
  ])('command: %.40s', (command, want) => expect(actionText(action('TerminalAction', { command }), '/w').subject).toBe(want));

  it('leaves out summaries that servers make of the arguments', () => {
    expect(ownSummary(action('X', {}, { summary: 'some_tool: {"a":1}' }))).toBe('');
  });
});

describe('editsOf', () => {
  it('prefers what the file was before and after', () => {
    const e = action('FileEditorAction', { command: 'str_replace', path: '/a', old_str: 'x', new_str: 'y' });
    expect(editsOf(e, null)).toEqual([{ path: '/a', before: 'x', after: 'y' }]);
    expect(editsOf(e, { old_content: '1\nx\n', new_content: '1\ny\n' })).toEqual([{ path: '/a', before: '1\nx\n', after: '1\ny\n' }]);
    expect(editsOf(action('TerminalAction', { command: 'ls' }), {})).toEqual([]);
  });

  it('has all files of a patch', () => {
    const e = action('ApplyPatchAction', { patch: '' });
    expect(editsOf(e, null)).toEqual([]);
    const changes = { a: { type: 'add', new_content: 'x\n' }, b: { type: 'update', old_content: '1\n', new_content: '2\n', move_path: 'c' }, large: { type: 'update' } };
    expect(editsOf(e, { commit: { changes } })).toEqual([
      { path: 'a', before: '', after: 'x\n' },
      { path: 'c', before: '1\n', after: '2\n' },
    ]);
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
