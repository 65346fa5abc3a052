import { useQuery } from '@tanstack/react-query';
import { Link, useLocation } from 'wouter';
import { stepText } from '../api/startTask';
import type { AppRoutes } from '../api/source';
import { ago } from '../design/format';

// StartTasks are the conversations of the list that are being started, or could not be.
export function StartTasks({ app }: { app: AppRoutes }) {
  const [current] = useLocation();
  const tasks = useQuery({
    queryKey: ['start-tasks'],
    queryFn: () => app.startTasks(),
    refetchInterval: ({ state }) => (state.data?.some((t) => t.ended === null) ? 1000 : 10_000),
  });
  return tasks.data?.map((t) => (
    <li key={t.id}>
      <Link href={`/starting/${t.id}`} className="conversation-link" aria-current={current === `/starting/${t.id}` ? 'page' : undefined}>
        <span className={`dot ${t.ended ? 'error' : 'starting'}`} aria-hidden="true" />
        <span className="ellipsis">{t.text || t.repository || 'New conversation'}</span>
        <small className="ellipsis">{t.ended ? `Not started · ${ago(t.created)}` : `${stepText(t.state)} …`}</small>
      </Link>
    </li>
  ));
}
