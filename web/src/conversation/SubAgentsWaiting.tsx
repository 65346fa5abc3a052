import { useQueries } from '@tanstack/react-query';
import { useMemo } from 'react';
import { taskQuery } from '../api/conversations';
import { Icon } from '../design/Icon';
import type { Readable } from '../events/store';
import { taskOf, underWay } from '../events/tasks';
import { useView } from '../events/useView';
import { plural, tr } from '../i18n/text';

// SubAgentsWaiting leads to the sub-agents that wait for the user, wherever the page is.
export function SubAgentsWaiting({ store, onGoto }: { store: Readable; onGoto: (id: string, text: string) => void }) {
  const items = useView(store, (v) => (v.timeline.status === 'running' ? v.timeline.items : null));
  const tasks = useMemo(() => (items ? underWay(items) : []), [items]);
  const waiting = useQueries({
    queries: tasks.map(({ action }) => taskQuery(taskOf(action)?.conversation ?? '', true)),
    combine: (found) => tasks.filter((_, i) => found[i]?.data?.status === 'waiting_for_confirmation'),
  });
  const [first] = waiting;
  if (!first) return null;
  return (
    <p className="banner warn" role="status">
      <Icon name="alert" />
      <span className="grow">{plural(waiting.length, 'A sub-agent needs your answer.', '{n} sub-agents need your answer.')}</span>
      <button className="button" onClick={() => onGoto(first.id, '')}>
        {tr('Show')}
      </button>
    </p>
  );
}
