// The answer that the model is writing: its text, and the calls of tools that it will make.
import { plain } from '../api/event';

export interface Draft {
  item: string; // the event that it becomes
  text: string;
  reasoning: string;
  calls: WrittenCall[];
}

export interface WrittenCall {
  tool: string;
  fields: Record<string, string>; // its arguments that are texts, or the end of long ones
  size: number; // characters of all of them
}

// An Answer is a frame of the server with parts of the unfinished answer.
export interface Answer {
  type: 'answer';
  item_id: string;
  whole?: boolean; // it has all parts so far
  aborted?: string; // why it becomes no event
  parts: Part[];
}

interface Part {
  kind: string;
  call?: number;
  tool?: string;
  field?: string;
  text: string;
  size?: number; // of a part that has lost its beginning
}

export function isAnswer(value: unknown): value is Answer {
  const a = value as Partial<Answer> | null;
  return typeof a === 'object' && a !== null && a.type === 'answer' && typeof a.item_id === 'string' && Array.isArray(a.parts);
}

// longest is how much of an argument is kept, in characters.
const longest = 512 * 1024;

// grown is the draft after a frame; null if there is none any more.
export function grown(before: Draft | null, { item_id, whole, aborted, parts }: Answer): Draft | null {
  if (aborted) return before?.item === item_id ? null : before;
  const same = !whole && before?.item === item_id;
  const draft: Draft = same ? { ...before, calls: before.calls.slice() } : { item: item_id, text: '', reasoning: '', calls: [] };
  for (const part of parts) {
    if (part.kind === 'text') draft.text += part.text;
    else if (part.kind === 'reasoning') draft.reasoning += part.text;
    else if (part.kind === 'call') draft.calls[part.call ?? 0] = withPart(draft.calls[part.call ?? 0], part);
  }
  return draft;
}

function withPart(before: WrittenCall | undefined, { tool = '', field, text, size }: Part): WrittenCall {
  const call = before ?? { tool, fields: {}, size: 0 };
  if (!field) return { ...call, tool };
  const all = (call.fields[field] ?? '') + text;
  const kept = all.length > 2 * longest ? all.slice(-longest) : all;
  return { tool, fields: { ...call.fields, [field]: kept }, size: call.size + (size ?? text.length) };
}

// The calls of these tools are shown as messages, as their events are.
const said = ['finish', 'think'];

// messageOf is the text and the reasoning that the draft shows.
export function messageOf(draft: Draft): { text: string; reasoning: string } {
  const of = (tool: string, field: string) => draft.calls.filter((c) => c?.tool === tool).map((c) => plain(c.fields[field]));
  return {
    text: [draft.text, ...of('finish', 'message')].filter(Boolean).join('\n\n'),
    reasoning: [draft.reasoning, ...of('think', 'thought')].filter(Boolean).join('\n\n'),
  };
}

// hasMessage reports whether messageOf has a text or reasoning. It reads no text, which grows.
export function hasMessage(draft: Draft): boolean {
  return draft.text !== '' || draft.reasoning !== '' || draft.calls.some((c) => c && said.includes(c.tool) && c.size > 0);
}

// writtenCalls are the places of the calls that have rows of their own.
export function writtenCalls(draft: Draft): number[] {
  return [...draft.calls.keys()].filter((i) => draft.calls[i] && !said.includes(draft.calls[i].tool));
}

// short texts are in the line of a call already, in characters.
const short = 80;

// longText is the argument that is being written, or was written last, of all that the line of the
// call does not show whole.
export function longText(call: WrittenCall): string {
  return Object.values(call.fields).findLast((text) => text.length > short || text.includes('\n')) ?? '';
}
