import type { ConversationSummary } from '../api/source';

// filters are what the lists can be limited to. Without one, archived conversations are
// left out.
export const filters = [
  { value: '', label: 'All but archived' },
  { value: 'running', label: 'Working' },
  { value: 'waiting_for_confirmation', label: 'Needs your answer' },
  { value: 'finished', label: 'Finished' },
  { value: 'error', label: 'Failed' },
  { value: 'stopped', label: 'Stopped' },
  { value: 'archived', label: 'Archived' },
];

export function fits(c: ConversationSummary, filter: string): boolean {
  if (filter === '') return c.status !== 'archived';
  return c.status === filter || (filter === 'error' && (c.status === 'stuck' || c.status === 'lost'));
}

// serverStatus is the part of a filter that the server knows; empty: all.
export function serverStatus(filter: string): string {
  return ['running', 'waiting_for_confirmation', 'finished'].includes(filter) ? filter : '';
}
