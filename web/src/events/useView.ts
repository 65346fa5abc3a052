import { useSyncExternalStore } from 'react';
import type { Readable, View } from './store';

// useView is a part of a store's view. The component is drawn again only when this part
// changes, so `select` must return a part of the view itself, or a primitive value.
export function useView<T>(store: Readable, select: (view: View) => T): T {
  return useSyncExternalStore(store.subscribe, () => select(store.get()));
}
