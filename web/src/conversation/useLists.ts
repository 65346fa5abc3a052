import { useQueryClient } from '@tanstack/react-query';
import { useCallback, useEffect } from 'react';
import { conversationKey, listsKey } from '../api/conversations';
import { originQuery } from '../api/publishing';
import type { EventStore } from '../events/store';
import { useView } from '../events/useView';
import type { Status } from '../api/summary';
import { useChanged } from './useChanged';

// useLists has the lists of conversations, and the summary of this one, read anew when an
// event changes them.
export function useLists(store: EventStore, id: string, title: string, status: Status): void {
  const queries = useQueryClient();
  const refresh = useCallback(() => {
    void queries.invalidateQueries({ queryKey: listsKey });
    void queries.invalidateQueries({ queryKey: conversationKey(id) });
  }, [queries, id]);
  useChanged(status, refresh);
  // A sandbox that has ended may have taken the files with it.
  const ends = useView(store, (v) => v.timeline.sandboxEnds);
  useChanged(ends, refresh);
  const titled = useCallback(() => {
    refresh();
    void queries.invalidateQueries({ queryKey: originQuery(id).queryKey }); // a pull request gets the title
  }, [queries, id, refresh]);
  useChanged(title, titled);
  // The model's call for a title costs something, and is stored a moment before the title or
  // after it.
  const usage = useView(store, (v) => v.timeline.usage);
  useEffect(() => {
    const timer = setTimeout(refresh, 500);
    return () => clearTimeout(timer);
  }, [refresh, usage]);
}
