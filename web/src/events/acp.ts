// Tool calls of another agent program. The page shows them like calls of Deft's own agent.
import type { ACPToolCall, ActionData, ActionEvent } from '../api/event';
import type { Item, Outcome } from './item';

interface Block {
  type?: string;
  path?: string;
  old_text?: string | null;
  new_text?: string;
  content?: { type?: string; text?: string };
}

const blocksOf = (e: ACPToolCall): Block[] => (Array.isArray(e.content) ? (e.content as Block[]).filter((b) => typeof b === 'object' && b !== null) : []);

interface Change {
  path: string;
  before: string | null;
  after: string;
}

function changesOf(e: ACPToolCall): Change[] {
  return blocksOf(e).flatMap(({ type, path, old_text: before, new_text: after }) =>
    type === 'diff' && typeof path === 'string' ? [{ path, before: typeof before === 'string' ? before : null, after: String(after ?? '') }] : [],
  );
}

// callOf is the action that a call does.
export function callOf(e: ACPToolCall): ActionEvent {
  return {
    kind: 'ActionEvent',
    id: e.id,
    timestamp: e.timestamp,
    source: 'agent',
    tool_name: e.title,
    tool_call_id: e.tool_call_id,
    action: dataOf(e),
  };
}

function dataOf(e: ACPToolCall): ActionData {
  const input = (typeof e.raw_input === 'object' && e.raw_input !== null ? e.raw_input : {}) as Record<string, unknown>;
  const text = (value: unknown) => (typeof value === 'string' ? value : '');
  const changes = changesOf(e);
  const [first] = changes;
  if (first && changes.length > 1) return { kind: 'ApplyPatchAction', patch: changes.map((c) => `*** Update File: ${c.path}`).join('\n') };
  if (first?.before === null) return { kind: 'WriteFileAction', file_path: first.path, content: first.after };
  if (first) return { kind: 'EditAction', file_path: first.path, old_string: first.before, new_string: first.after };
  if (e.tool_kind === 'execute') return { kind: 'TerminalAction', command: text(input.command) || e.title.replace(/^`|`$/g, '') };
  const path = text(input.file_path) || text(input.path);
  if (e.tool_kind === 'read' && path) return { kind: 'ReadFileAction', file_path: path };
  return { kind: 'MCPToolAction', data: input };
}

// outcomeOf is the result of a call; null while it works.
export function outcomeOf(e: ACPToolCall): Outcome | null {
  if (e.status !== 'completed' && e.status !== 'failed') return null;
  const texts = blocksOf(e).flatMap((b) => (typeof b.content?.text === 'string' ? [b.content.text] : []));
  if (texts.length === 0 && typeof e.raw_output === 'string') texts.push(e.raw_output);
  const changes = Object.fromEntries(changesOf(e).map((c) => [c.path, { old_content: c.before ?? '', new_content: c.after }]));
  return {
    state: 'done',
    time: e.timestamp,
    observation: { kind: e.kind, content: [{ type: 'text', text: texts.join('\n') }], is_error: e.is_error, commit: { changes } },
  };
}

const permission = 'acp-permission-'; // begins the ids of calls by which a program only asks

// withoutGranted leaves out the permissions that were given: the call itself is shown.
export function withoutGranted(items: Item[]): Item[] {
  const granted = (item: Item) => item.type === 'action' && item.outcome?.state === 'done' && item.action.tool_call_id.startsWith(permission);
  return items.some(granted) ? items.filter((item) => !granted(item)) : items;
}
