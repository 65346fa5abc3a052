import { useCallback, useState } from 'react';

// A Target is an event that the timeline goes to.
export interface Target {
  id: string;
}

// useTarget begins with the event that the address names: /conversations/ID?event=…
export function useTarget(): { target: Target | null; goto: (event: string) => void; clear: () => void } {
  const [target, setTarget] = useState<Target | null>(() => {
    const event = new URLSearchParams(window.location.search).get('event');
    return event ? { id: event } : null;
  });
  const goto = useCallback((event: string) => setTarget((now) => (now?.id === event ? now : { id: event })), []);
  const clear = useCallback(() => setTarget(null), []);
  return { target, goto, clear };
}
