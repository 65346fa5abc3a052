// The queue of a conversation: messages that the server sends when the agent has ended. A state
// update with the key `queue` tells of each change.
import type { Conversation } from './conversation';

export interface Queued {
  id: string; // of the event that it becomes
  text: string;
}

// isQueue accepts the value of such an update.
export function isQueue(value: unknown): value is Queued[] {
  return Array.isArray(value) && value.every((m: Partial<Queued> | null) => typeof m?.id === 'string' && typeof m.text === 'string');
}

export const addQueued = (c: Conversation, text: string): Promise<Queued> => c.ask('POST', 'queue', { text });

export const editQueued = (c: Conversation, id: string, text: string): Promise<unknown> => c.ask('PUT', `queue/${id}`, { text });

export const removeQueued = (c: Conversation, id: string): Promise<unknown> => c.ask('DELETE', `queue/${id}`);

// sendQueued does not wait for the end of the agent.
export const sendQueued = (c: Conversation, id: string): Promise<unknown> => c.ask('POST', `queue/${id}/send`);
