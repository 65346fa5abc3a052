import { useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { describe } from '../api/failure';
import { most, sharedQuery } from '../api/shared';
import { fixed } from '../events/fixed';
import { SharedContext } from './shared';
import { Timeline } from './Timeline';
import { number, tr } from '../i18n/text';
import './conversation.css';
import './thread.css';

const nothing = () => {};

// SharedPage shows a conversation to whoever has its link. Nothing can be changed in it.
export default function SharedPage({ id }: { id: string }) {
  const shared = useQuery(sharedQuery(id));
  const [target] = useState(() => {
    const event = new URLSearchParams(window.location.search).get('event');
    return event ? { id: event } : null;
  });
  const store = useMemo(() => fixed(shared.data?.events ?? []), [shared.data]);
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
        <SharedContext value={true}>
          <Timeline store={store} address={`/shared/${id}`} target={target} onOlder={nothing} onRetry={null} onBranch={null} />
        </SharedContext>
      </div>
    </main>
  );
}
