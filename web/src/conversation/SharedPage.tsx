import { useQuery } from '@tanstack/react-query';
import { useEffect, useLayoutEffect, useState } from 'react';
import { describe } from '../api/failure';
import { shared, sharedQuery, type Shared } from '../api/shared';
import { eventOf } from '../events/item';
import { EventStore } from '../events/store';
import { MissedBanner } from './Banners';
import { ConnectionBanner } from './ConnectionBanner';
import { SharedContext } from './shared';
import { Timeline } from './Timeline';
import { useTarget } from './useTarget';
import { tr } from '../i18n/text';
import { setTitle } from '../design/title';
import './conversation.css';
import './thread.css';

// SharedPage shows a conversation to whoever has its link. Nothing can be changed in it.
export default function SharedPage({ id }: { id: string }) {
  const about = useQuery(sharedQuery(id));
  const title = about.data?.title;
  useEffect(() => {
    setTitle(title);
  }, [title]);
  if (about.isPending) return <p className="hint late panel-body">{tr('Loading …')}</p>;
  if (about.isError) {
    return (
      <main className="center">
        <h1>{tr('The conversation cannot be shown')}</h1>
        <p>{describe(about.error)}</p>
      </main>
    );
  }
  return <Read about={about.data} />;
}

function Read({ about: { id, title } }: { about: Shared }) {
  const [store] = useState(() => new EventStore(shared(id)));
  const { target, toEnd, ends } = useTarget(store, null);
  const [first] = useState(target && eventOf(target));
  useLayoutEffect(() => {
    store.open(first);
    return () => store.close();
  }, [store, first]);
  return (
    <main className="conversation shared">
      <header className="bar">
        <h1 className="ellipsis">{title}</h1>
        <span className="hint">{tr('shared, read only')}</span>
      </header>
      <div className="chat">
        <ConnectionBanner store={store} />
        <MissedBanner store={store} />
        <SharedContext value={true}>
          <Timeline store={store} address={`/shared/${id}`} target={target} onRetry={null} onBranch={null} ends={ends} onEnd={toEnd} />
        </SharedContext>
      </div>
    </main>
  );
}
