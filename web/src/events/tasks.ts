// The tasks that a conversation gives to sub-agents. Each is done in a conversation of its own.
import { dashed } from '../api/ids';
import { textOf, type ActionEvent } from '../api/event';
import type { ActionItem, Item } from './item';

export interface AgentTask {
  conversation: string; // the id of that where the sub-agent works; empty: there is none
  agent: string; // the sub-agent's name
  description: string; // in a few words, or empty
  prompt: string;
  resumed: boolean; // it goes on with an earlier task, in the conversation of that
}

// taskOf reads an action; null if it is none that starts or resumes a sub-agent. A new
// conversation of a sub-agent has the id of the action.
export function taskOf({ id, action }: ActionEvent): AgentTask | null {
  if (action?.kind !== 'TaskAction') return null;
  const text = (value: unknown) => (typeof value === 'string' ? value : '');
  const resume = text(action.resume);
  return {
    conversation: resume ? normal(resume) : id,
    agent: text(action.subagent_type),
    description: text(action.description),
    prompt: text(action.prompt),
    resumed: resume !== '',
  };
}

// normal is an id as servers write it; empty if it is none.
function normal(id: string): string {
  const hex = id.toLowerCase().replaceAll('-', '');
  return /^[0-9a-f]{32}$/.test(hex) ? dashed(hex) : '';
}

export const isTask = (item: Item): item is ActionItem => item.type === 'action' && item.action.action?.kind === 'TaskAction';

// Ending is how a task has ended. Unstarted: there was no sub-agent for it.
export type Ending = 'finished' | 'interrupted' | 'failed' | 'unstarted' | 'rejected';

// endingOf is null while a task has no outcome.
export function endingOf({ outcome }: ActionItem): Ending | null {
  if (outcome === null) return null;
  if (outcome.state !== 'done') return outcome.state;
  const { task_id: id, status, is_error: failed } = outcome.observation;
  if (id === 'unknown') return 'unstarted';
  if (failed === true || status === 'error') return 'failed';
  return status === 'interrupted' ? 'interrupted' : 'finished';
}

// answerOf returns the answer of a sub-agent, or its error; empty before that.
export function answerOf({ outcome }: ActionItem): string {
  if (outcome?.state === 'done') return textOf(outcome.observation.content);
  return outcome?.state === 'failed' ? outcome.error : '';
}

export interface Opening {
  chosen: ReadonlyMap<string, boolean>; // the user's choices, by the action's id
  working: boolean; // the conversation is at work: tasks without an outcome are being done
  reading: boolean; // the user is not at the end: ended tasks stay open meanwhile
}

// openTasks returns the ids of tasks with an open thread: tasks at work, and tasks that the
// user has opened. `before` has the open tasks until now.
export function openTasks(items: Item[], { chosen, working, reading }: Opening, before: ReadonlySet<string>): ReadonlySet<string> {
  const open = new Set<string>();
  for (const item of items) {
    if (!isTask(item)) continue;
    const byItself = (working && item.outcome === null) || (reading && before.has(item.id));
    if (chosen.get(item.id) ?? byItself) open.add(item.id);
  }
  return open.size === before.size && [...open].every((id) => before.has(id)) ? before : open;
}

// underWay are the tasks that have no outcome.
export const underWay = (items: Item[]): ActionItem[] => items.filter((item) => isTask(item) && item.outcome === null) as ActionItem[];
