import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { Link, useLocation } from 'wouter';
import { describe } from '../api/failure';
import { listsKey } from '../api/conversations';
import { forgetStart, startAgain, startTaskQuery, startTasksKey, steps, stepText, type StartTask } from '../api/startTasks';
import { addToDraft, newTask } from '../conversation/draft';
import { Icon } from '../design/Icon';
import { setTitle } from '../design/title';
import { tr } from '../i18n/text';
import './home.css';

// StartPage is the start of a conversation. The server works on it, whether the page is
// there or not.
export default function StartPage({ id }: { id: string }) {
  const queries = useQueryClient();
  const [, navigate] = useLocation();
  const task = useQuery(startTaskQuery(id));
  const ready = task.data?.ended === 'ready' ? task.data.conversation : '';

  useEffect(() => {
    setTitle(tr('Starting'));
  }, []);
  useEffect(() => {
    if (!ready) return;
    void queries.invalidateQueries({ queryKey: listsKey });
    void queries.invalidateQueries({ queryKey: startTasksKey });
    navigate(`/conversations/${ready}`, { replace: true });
  }, [ready, queries, navigate]);

  const leave = (path: string) => {
    void queries.invalidateQueries({ queryKey: startTasksKey });
    navigate(path);
  };
  const again = useMutation({ mutationFn: startAgain, onSuccess: (next) => leave(`/starting/${next}`) });
  const forget = useMutation({ mutationFn: forgetStart, onSuccess: () => leave('/') });

  if (task.isError && !task.data) {
    return (
      <div className="center">
        <h1>{tr('The start cannot be shown')}</h1>
        <p>{describe(task.error)}</p>
        <button className="button" onClick={() => void task.refetch()}>
          {tr('Try again')}
        </button>
      </div>
    );
  }
  if (task.data === undefined || ready) return null;
  if (task.data === null) {
    return (
      <div className="center">
        <h1>{tr('There is no such start')}</h1>
        <Link className="button" href="/">
          {tr('New task')}
        </Link>
      </div>
    );
  }
  const { data } = task;
  const failed = data.ended === 'failed';
  const problem = again.error ?? forget.error;
  return (
    <div className="home">
      <div className="home-inner">
        <h1>{failed ? tr('The conversation was not started') : tr('The conversation is being started')}</h1>
        <p className="start-text">{data.text || tr('Without a first message')}</p>
        {data.repository && <p className="hint">{data.repository}</p>}
        {!failed && <Steps task={data} />}
        {failed && (
          <section className="start-failed" aria-label={tr('The start failed')}>
            <p className="banner bad" role="alert">
              <span className="grow">
                {data.failedAt && <strong>{stepText(data.failedAt)}: </strong>}
                {data.reason || tr('The server does not say why.')}
              </span>
            </p>
          </section>
        )}
        {data.log && (
          <pre className="code start-log" role="region" aria-label={tr('Log of the setup')} tabIndex={0}>
            {data.log}
          </pre>
        )}
        {failed && (
          <div className="row">
            <button className="button primary" disabled={again.isPending} onClick={() => again.mutate(data)}>
              <Icon name="refresh" size={14} /> {tr('Try again')}
            </button>
            <button
              className="button"
              onClick={() => {
                addToDraft(newTask, data.text);
                leave('/');
              }}
            >
              {tr('Change the task')}
            </button>
            <span className="grow" />
            <button className="button quiet" disabled={forget.isPending} onClick={() => forget.mutate(data)}>
              {tr('Delete')}
            </button>
          </div>
        )}
        {problem && (
          <p className="banner bad" role="alert">
            {describe(problem)}
          </p>
        )}
      </div>
    </div>
  );
}

function Steps({ task }: { task: StartTask }) {
  const shown = steps.filter((s) => !s.repository || task.repository !== '' || s.state === task.state);
  const at = shown.findIndex((s) => s.state === task.state);
  return (
    <ol className="start-steps" aria-label={tr('Steps')}>
      {shown.map((s, i) => (
        <li key={s.state} aria-current={i === at ? 'step' : undefined} data-done={i < at || undefined}>
          <span className="plan-mark">{i < at ? <Icon name="check" size={12} /> : <span className={i === at ? 'dot running' : 'dot'} />}</span>
          <span>{s.label}</span>
          {i < at && <span className="visually-hidden">{tr(', done')}</span>}
        </li>
      ))}
    </ol>
  );
}
