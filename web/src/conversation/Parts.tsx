import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { Link } from 'wouter';
import { useSource } from '../api/context';
import type { ConversationSummary, Source } from '../api/source';
import { statusText } from '../design/format';
import { Icon } from '../design/Icon';
import { EventStore } from '../events/store';
import { Timeline } from './Timeline';
import { tr } from '../i18n/text';

// Parts are the conversations that work on parts of this one: threads, which open in place.
export function Parts({ ids }: { ids: string[] }) {
  const source = useSource();
  const parts = useQuery({
    queryKey: ['conversations', 'parts', ...ids],
    queryFn: async () => (await Promise.all(ids.map((id) => source.conversation(id)))).filter((c) => c !== null),
    refetchInterval: ({ state }) => (state.data?.some((c) => ['running', 'starting', 'waiting_for_confirmation'].includes(c.status)) ? 3000 : 30_000),
  });
  const [open, setOpen] = useState<string | null>(null);
  if (!parts.data || parts.data.length === 0) return null;
  return (
    <section className="parts" aria-label={tr('Threads')}>
      <ul>
        {parts.data.map((c) => (
          <li key={c.id}>
            <div className="row">
              <button className="fold grow" aria-expanded={open === c.id} onClick={() => setOpen(open === c.id ? null : c.id)}>
                <Icon name="chevron" size={12} />
                <span className={`dot ${c.status}`} aria-hidden="true" />
                <span className="ellipsis">{c.title}</span>
              </button>
              <span className="hint">{[c.planner ? tr('plans') : '', statusText(c.status)].filter(Boolean).join(' · ')}</span>
              <Link className="button quiet" href={`/conversations/${c.id}`}>
                {tr('Open')}<span className="visually-hidden"> {c.title}</span>
              </Link>
            </div>
            {open === c.id && <Thread key={c.sessionKey ?? c.sandbox} source={source} summary={c} />}
          </li>
        ))}
      </ul>
    </section>
  );
}

const nothing = () => {};

// Thread is another conversation, to be read.
function Thread({ source, summary }: { source: Source; summary: ConversationSummary }) {
  const [store] = useState(() => new EventStore(source.connect(summary)));
  useEffect(() => {
    store.open();
    return () => store.close();
  }, [store]);
  return (
    <div className="thread">
      <Timeline store={store} label={summary.title} target={null} onOlder={store.loadOlder} onRetry={nothing} onBranch={null} />
    </div>
  );
}
