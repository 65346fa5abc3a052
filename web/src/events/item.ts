import type { ActionEvent, ObservationData } from '../api/event';

// An Item is a line or block of the conversation's page.
export type Item = MessageItem | ActionItem | ResultItem | ErrorItem | NoteItem;

// eventOf returns the event that an item shows: the text with an action and a critic's verdict have items
// of their own.
export const eventOf = ({ id }: Pick<Item, 'id'>): string => id.replace(/:(thought|critic)$/, '');

export interface MessageItem {
  type: 'message';
  id: string;
  time: string;
  from: 'user' | 'agent';
  text: string;
  images: string[];
  reasoning: string;
  draft?: true; // the timeline's draft, which has the texts
}

export interface ActionItem {
  type: 'action';
  id: string;
  time: string;
  action: ActionEvent;
  reasoning: string;
  risk: string; // LOW, MEDIUM, HIGH or UNKNOWN
  outcome: Outcome | null; // null: not finished
}

export type Outcome = {
  time: string;
  began?: string; // when the action began; by default when it was asked for
} & ({ state: 'done'; observation: ObservationData } | { state: 'rejected'; reason: string; by: string } | { state: 'failed'; error: string });

// ran is how long actions ran, in milliseconds, without the time between them.
export function ran(items: Pick<ActionItem, 'time' | 'outcome'>[]): number {
  let sum = 0;
  let until = 0; // it is counted
  for (const { time, outcome } of items) {
    if (!outcome || outcome.state === 'rejected') continue;
    const end = Date.parse(outcome.time);
    sum += Math.max(end - Math.max(Date.parse(outcome.began ?? time), until), 0) || 0;
    until = Math.max(until, end || 0);
  }
  return sum;
}

// A ResultItem is a result whose action is in an older window.
export interface ResultItem {
  type: 'result';
  id: string;
  time: string;
  tool: string;
  outcome: Outcome;
}

export interface ErrorItem {
  type: 'error';
  id: string;
  time: string;
  code: string;
  detail: string;
  cure: 'none' | 'retry' | 'settings';
}

export interface NoteItem {
  type: 'note';
  id: string;
  time: string;
  text: string;
  detail: string;
  folds?: boolean; // opening it shows other items
  missing?: string[]; // parts that the agent does not have, such as MCP servers, with the reasons
}
