// Shared conversations: whoever has the link reads them.
import { queryOptions } from '@tanstack/react-query';
import { tr } from '../i18n/text';
import { EventPages } from './events';
import { query, request } from './http';

export interface Shared {
  id: string;
  title: string;
}

async function load(id: string): Promise<Shared> {
  const [about] = await request<({ title: string | null } | null)[]>('GET', `/api/shared-conversations${query({ ids: id })}`);
  if (!about) throw new Error(tr('There is no such conversation, or it is not shared any more.'));
  return { id, title: about.title ?? tr('Untitled') };
}

export const sharedQuery = (id: string) => queryOptions({ queryKey: ['shared', id], queryFn: () => load(id), retry: false, staleTime: Infinity });

// shared is a conversation that can be read and not followed.
export const shared = (id: string) => ({ live: false, events: new EventPages('/api/shared-events', id) });
