import type { ConversationSummary } from '../api/summary';
import { tr } from '../i18n/text';

// filters limit the lists. Without one, archived conversations are left out.
export const filters = [
  { value: '', label: tr('All but archived') },
  { value: 'running', label: tr('Working') },
  { value: 'waiting_for_confirmation', label: tr('Needs your answer') },
  { value: 'finished', label: tr('Finished') },
  { value: 'error', label: tr('Failed') },
  { value: 'asleep', label: tr('Sandbox paused') },
  { value: 'stored', label: tr('Read only') },
  { value: 'terminal', label: tr('From the terminal') },
  { value: 'archived', label: tr('Archived') },
];

export function fits(c: ConversationSummary, filter: string): boolean {
  if (filter === '') return c.status !== 'archived';
  return c.status === filter || (filter === 'error' && (c.status === 'stuck' || c.status === 'lost'));
}

// serverStatus is the part of a filter that the server knows; empty: all.
export function serverStatus(filter: string): string {
  return ['running', 'waiting_for_confirmation', 'finished'].includes(filter) ? filter : '';
}
