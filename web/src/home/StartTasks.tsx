import { useQuery } from '@tanstack/react-query';
import { Link, useLocation } from 'wouter';
import { startTasksQuery, stepText, type StartTask } from '../api/startTasks';
import { ago } from '../design/format';
import { tr } from '../i18n/text';

const none: StartTask[] = [];

// useStartTasks are the conversations that are being started, or could not be.
export function useStartTasks(): StartTask[] {
  return useQuery(startTasksQuery).data ?? none;
}

// StartTasks are entries of the list.
export function StartTasks({ tasks }: { tasks: StartTask[] }) {
  const [current] = useLocation();
  return tasks.map((t) => (
    <li key={t.id}>
      <Link href={`/starting/${t.id}`} className="conversation-link" aria-current={current === `/starting/${t.id}` ? 'page' : undefined}>
        <span className={`dot ${t.ended ? 'error' : 'starting'}`} aria-hidden="true" />
        <span className="ellipsis">{t.text || t.repository || tr('New conversation')}</span>
        <small className="ellipsis">{t.ended ? tr('Not started · {when}', { when: ago(t.created) }) : `${stepText(t.state)} …`}</small>
      </Link>
    </li>
  ));
}
