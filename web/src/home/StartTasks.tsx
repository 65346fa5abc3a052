import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useLocation } from 'wouter';
import { forgetStart, startTasksKey, startTasksQuery, stepText, type StartTask } from '../api/startTasks';
import { ago } from '../design/format';
import { Icon } from '../design/Icon';
import { tr } from '../i18n/text';

const none: StartTask[] = [];

// useStartTasks are the conversations that are being started, or could not be.
export function useStartTasks(): StartTask[] {
  return useQuery(startTasksQuery).data ?? none;
}

const nameOf = (t: StartTask): string => t.text || t.repository || tr('New conversation');

// timely are the failed starts whose place in a list is before an entry, given the times of
// that entry and of the one above it; empty: there is none.
export function timely(failed: StartTask[], above: string, below: string): StartTask[] {
  const time = (iso: string, none: number) => (iso ? Date.parse(iso) : none);
  return failed.filter((t) => time(t.created, 0) > time(below, -1) && time(t.created, 0) <= time(above, Infinity));
}

// StartTasks are entries of the list.
export function StartTasks({ tasks }: { tasks: StartTask[] }) {
  const [current] = useLocation();
  const queries = useQueryClient();
  const forget = useMutation({ mutationFn: forgetStart, onSettled: () => queries.invalidateQueries({ queryKey: startTasksKey }) });
  return tasks.map((t) => (
    <li key={t.id}>
      <Link href={`/starting/${t.id}`} className="conversation-link" aria-current={current === `/starting/${t.id}` ? 'page' : undefined}>
        <span className={`dot ${t.ended ? 'error' : 'starting'}`} aria-hidden="true" />
        <span className="ellipsis">{nameOf(t)}</span>
        <small className="ellipsis">{t.ended ? tr('Not started · {when}', { when: ago(t.created) }) : `${stepText(t.state)} …`}</small>
      </Link>
      {t.ended && (
        <span className="conversation-actions">
          <button className="icon-button" aria-label={tr('Put away {title}', { title: nameOf(t) })} disabled={forget.isPending} onClick={() => forget.mutate(t)}>
            <Icon name="close" size={14} />
          </button>
        </span>
      )}
    </li>
  ));
}
