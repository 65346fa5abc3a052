import { useEffect, useRef, useState } from 'react';
import { VList, type VListHandle } from 'virtua';
import { useSearchParams } from 'wouter';
import type { Event } from '../api/event';
import { tr } from '../i18n/text';

interface Props {
  events: Event[];
  older: 'none' | 'more' | 'loading';
  onOlder: () => void;
}

// RawEvents shows the stored events as the server sent them, newest first.
export function RawEvents({ events, older, onOlder }: Props) {
  const [filter, setFilter] = useState('');
  const [address, setAddress] = useSearchParams();
  const open = address.get('event');
  const wanted = filter.toLowerCase();
  const shown = events.toReversed().filter((e) => wanted === '' || JSON.stringify(e).toLowerCase().includes(wanted));
  // The event that the address names at first is brought into view.
  const list = useRef<VListHandle>(null);
  const wantedFirst = useRef(open);
  useEffect(() => {
    const at = events.findLastIndex((e) => e.id === wantedFirst.current);
    if (at < 0) return;
    wantedFirst.current = null;
    list.current?.scrollToIndex(events.length - 1 - at, { align: 'center' });
  }, [events]);
  return (
    <div className="panel-body raw">
      <div className="panel-tools">
        <input className="input" type="search" aria-label={tr('Filter events')} placeholder={tr('Filter')} value={filter} onChange={(e) => setFilter(e.target.value)} />
        <span className="hint number">{shown.length}</span>
        {older !== 'none' && (
          <button className="button quiet" disabled={older === 'loading'} onClick={onOlder}>
            {tr('Load earlier')}
          </button>
        )}
      </div>
      <VList ref={list} className="raw-list">
        {shown.map((e) => (
          <div key={e.id} className="raw-event">
            <button aria-expanded={open === e.id} onClick={() => setAddress(open === e.id ? {} : { event: e.id }, { replace: true })}>
              <span className="hint number">{e.timestamp.slice(11, 23)}</span>
              <span className="grow ellipsis">
                {e.kind}
                {e.kind === 'ConversationStateUpdateEvent' && <span className="hint"> {e.key}</span>}
                {(e.kind === 'ActionEvent' || e.kind === 'ObservationEvent') && <span className="hint"> {e.tool_name}</span>}
              </span>
              <span className="hint">{e.source}</span>
            </button>
            {open === e.id && <pre className="code">{JSON.stringify(e, null, 2)}</pre>}
          </div>
        ))}
      </VList>
    </div>
  );
}
