import { useState } from 'react';
import type { EventStore } from '../events/store';
import { useView } from '../events/useView';

// useFailure is the reason why something with a whole conversation failed; empty: nothing did.
// It goes when an event of the conversation says the same.
export function useFailure(store: EventStore): { failure: string; setFailure: (text: string) => void } {
  const [failure, setFailure] = useState('');
  const repeated = useView(store, (v) => v.timeline.items.slice(-3).some((item) => item.type === 'error' && item.detail !== '' && failure.startsWith(item.detail.split('\n', 1)[0] as string)));
  if (failure !== '' && repeated) setFailure('');
  return { failure, setFailure };
}
