// Shared conversations: whoever has the link reads them.
import { queryOptions } from '@tanstack/react-query';
import type { Event } from '../events/event';
import { tr } from '../i18n/text';
import { query, request } from './http';

export interface Shared {
  title: string;
  events: Event[];
  whole: boolean; // all of its events are there
}

// most bounds the events of a shared conversation.
export const most = 5000;

async function load(id: string): Promise<Shared> {
  const [about] = await request<({ title: string | null } | null)[]>('GET', `/api/shared-conversations${query({ ids: id })}`);
  if (!about) throw new Error(tr('There is no such conversation, or it is not shared any more.'));
  const events: Event[] = [];
  let page: string | null = '';
  while (page !== null && events.length < most) {
    const answer: { items: Event[]; next_page_id: string | null } = await request(
      'GET',
      `/api/shared-events/search${query({ conversation_id: id, page_id: page, limit: 100, sort_order: 'TIMESTAMP' })}`,
    );
    events.push(...answer.items);
    page = answer.next_page_id;
  }
  return { title: about.title ?? tr('Untitled'), events, whole: page === null };
}

export const sharedQuery = (id: string) => queryOptions({ queryKey: ['shared', id], queryFn: () => load(id), retry: false, staleTime: Infinity });
