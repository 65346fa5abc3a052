import { useSyncExternalStore } from 'react';
import type { Readable, View } from './store';

// useView is a part of what a store has. The component is drawn again only when this part
// is another one, so `select` must return what the view holds, or a primitive value.
export function useView<T>(store: Readable, select: (view: View) => T): T {
  return useSyncExternalStore(store.subscribe, () => select(store.get()));
}
