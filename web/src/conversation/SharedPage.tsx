import { useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { describe } from '../api/failure';
import { query, request } from '../api/http';
import type { Event } from '../events/event';
import type { Readable, View } from '../events/store';
import { append, empty } from '../events/timeline';
import { Timeline } from './Timeline';
import { number, tr } from '../i18n/text';
import './conversation.css';

interface Page {
  items: Event[];
  next_page_id: string | null;
}

// most is how many events of a shared conversation are loaded.
const most = 5000;

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

const nothing = () => {};

// still is a store of events that do not change.
function still(events: Event[]): Readable {
  // Its status is that of a conversation that nobody here can steer.
  const timeline = { ...append(empty, events), status: 'idle' as const, draft: null };
  const view: View = { timeline, connection: 'live', loaded: true, older: 'none', failure: '' };
  return { subscribe: () => nothing, get: () => view };
}

// SharedPage shows a conversation to whoever has its link. Nothing can be changed in it.
export default function SharedPage({ id }: { id: string }) {
  const shared = useQuery({ queryKey: ['shared', id], queryFn: () => load(id), retry: false, staleTime: Infinity });
  const [target] = useState(() => {
    const event = new URLSearchParams(window.location.search).get('event');
    return event ? { id: event } : null;
  });
  const store = useMemo(() => still(shared.data?.events ?? []), [shared.data]);
  if (shared.isPending) return null;
  if (shared.isError) {
    return (
      <main className="center">
        <h1>{tr('The conversation cannot be shown')}</h1>
        <p>{describe(shared.error)}</p>
      </main>
    );
  }
  return (
    <main className="conversation shared">
      <header className="bar">
        <h1 className="ellipsis">{shared.data.title}</h1>
        <span className="hint">{shared.data.whole ? tr('shared, read only') : tr('shared, read only; the first {n} events', { n: number(most) })}</span>
      </header>
      <div className="chat">
        <Timeline store={store} target={target} onOlder={nothing} onRetry={nothing} onBranch={null} />
      </div>
    </main>
  );
}
