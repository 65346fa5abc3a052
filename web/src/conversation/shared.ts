// Conversations that are shared, as whoever has their link reads them.
import { queryOptions } from '@tanstack/react-query';
import { query, request } from '../api/http';
import type { Event } from '../events/event';
import type { Readable, View } from '../events/store';
import { append, empty } from '../events/timeline';
import { tr } from '../i18n/text';

interface Page {
  items: Event[];
  next_page_id: string | null;
}

// most is how many events of a shared conversation are loaded.
export const most = 5000;

async function load(id: string): Promise<{ title: string; events: Event[]; whole: boolean }> {
  const [about] = await request<({ title: string | null } | null)[]>('GET', `/api/shared-conversations${query({ ids: id })}`);
  if (!about) throw new Error(tr('There is no such conversation, or it is not shared any more.'));
  const events: Event[] = [];
  let page: string | null = '';
  while (page !== null && events.length < most) {
    const answer: Page = await request('GET', `/api/shared-events/search${query({ conversation_id: id, page_id: page, limit: 100, sort_order: 'TIMESTAMP' })}`);
    events.push(...answer.items);
    page = answer.next_page_id;
  }
  return { title: about.title ?? tr('Untitled'), events, whole: page === null };
}

export const sharedQuery = (id: string) => queryOptions({ queryKey: ['shared', id], queryFn: () => load(id), retry: false, staleTime: Infinity });

// still is a store of events that do not change.
export function still(events: Event[]): Readable {
  // Its status is that of a conversation that nobody here can steer.
  const timeline = { ...append(empty, events), status: 'idle' as const, draft: null };
  const view: View = { timeline, connection: 'live', loaded: true, older: 'none', failure: '' };
  return { subscribe: () => () => {}, get: () => view };
}
