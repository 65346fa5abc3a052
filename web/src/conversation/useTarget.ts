import { useCallback, useEffect, useState } from 'react';
import { useSearchParams } from 'wouter';
import { eventOf } from '../events/item';
import type { EventStore } from '../events/store';

// A Target is an event that the timeline goes to.
export interface Target {
  id: string; // of the event, or of one of the items that show it
  text: string; // that was found there; empty: a link leads there
}

interface Targets {
  target: Target | null;
  goto: (id: string, text: string) => void;
  clear: () => void;
  toEnd: () => void;
  ends: number; // how often the end was wanted
}

// useTarget is the event that the address names, /conversations/ID?event=…, or one that was found.
// Going back to an address without one goes to the end. The panel of raw events uses such addresses
// for itself.
export function useTarget(store: EventStore, panel: string | null): Targets {
  const [address, setAddress] = useSearchParams();
  const event = address.get('event');
  const [target, setTarget] = useState<Target | null>(() => (event ? { id: event, text: '' } : null));
  const [ends, setEnds] = useState(0);
  const [last, setLast] = useState({ event, panel });
  if (last.event !== event || last.panel !== panel) {
    setLast({ event, panel });
    if (panel !== 'events' && event && event !== last.event) setTarget({ id: event, text: '' });
    else if (panel === null && last.panel === null) {
      setTarget(null);
      setEnds(ends + 1);
    }
  }
  useEffect(() => {
    if (target) store.goTo(eventOf(target));
  }, [target, store]);
  const goto = useCallback((id: string, text: string) => setTarget((now) => (now?.id === id && now.text === text ? now : { id, text })), []);
  const clear = useCallback(() => setTarget(null), []);
  const toEnd = useCallback(() => {
    setTarget(null);
    setEnds((n) => n + 1);
    if (panel !== 'events' && event) setAddress((now) => (now.delete('event'), now), { replace: true });
  }, [panel, event, setAddress]);
  return { target, goto, clear, toEnd, ends };
}
