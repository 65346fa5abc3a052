import { useQuery, useQueryClient } from '@tanstack/react-query';
import { memo, useContext, useEffect, useMemo, useState, type ReactNode } from 'react';
import { conversationKey, taskQuery } from '../api/conversations';
import { describe } from '../api/failure';
import { shared, sharedQuery } from '../api/shared';
import type { Status } from '../api/summary';
import { duration, spentText, statusText } from '../design/format';
import { Icon } from '../design/Icon';
import { Plain } from '../design/Markdown';
import { ran, type ActionItem } from '../events/item';
import { EventStore, silent } from '../events/store';
import { answerOf, endingOf, taskOf, type AgentTask, type Ending } from '../events/tasks';
import { useView } from '../events/useView';
import { Waits } from './ActionLine';
import { Message } from './Rows';
import { SharedContext } from './shared';
import { ThreadContext } from './threadContext';
import { useFollowed } from './useFollowed';
import { tr } from '../i18n/text';

interface Props {
  item: ActionItem;
  open: boolean;
  waiting: boolean; // for the user's decision, whether the task is given at all
  allowed: boolean; // by the user, who has not decided on others
  working: boolean; // the conversation whose task it is is at work
  onToggle: (id: string, open: boolean) => void;
}

// TaskLine is one line for a task of a sub-agent, which opens to the conversation where the
// sub-agent works.
export const TaskLine = memo(function TaskLine(props: Props) {
  const isShared = useContext(SharedContext);
  const task = taskOf(props.item.action);
  if (!task) return null;
  return isShared ? <SharedTask {...props} task={task} /> : <OwnTask {...props} task={task} />;
});

type Known = Props & { task: AgentTask };

// isGiven reports that a sub-agent has got the task.
const isGiven = ({ item, task, waiting }: Known): boolean => task.conversation !== '' && !['rejected', 'unstarted'].includes(endingOf(item) ?? '') && !(waiting && item.outcome === null);

function OwnTask({ task, ...props }: Known) {
  const thread = useContext(ThreadContext);
  const { item, open } = props;
  const working = props.working && item.outcome === null;
  const child = useQuery({ ...taskQuery(task.conversation, working), enabled: isGiven({ ...props, task }) });
  const found = child.data ?? null;
  // Its cost is known when it has ended.
  const queries = useQueryClient();
  const { conversation: id } = task;
  useEffect(() => {
    if (!working) return;
    return () => void queries.invalidateQueries({ queryKey: conversationKey(id) });
  }, [queries, id, working]);

  const held = working && found?.status === 'waiting_for_confirmation'; // its sub-agent waits for the user
  const followed = useFollowed(open || held ? found : null);
  const live = useView(followed?.store ?? silent, (v) => (v.connection === 'live' ? v.timeline.status : null));
  const spent = useView(followed?.store ?? silent, (v) => (v.connection === 'live' ? v.timeline.usage.costUSD : null));
  const status = live ?? found?.status ?? null;
  useEffect(() => {
    if (live) void queries.invalidateQueries({ queryKey: conversationKey(id) });
  }, [queries, id, live]);
  const answer = answerOf(item);
  return (
    <Line {...props} task={task} open={open || held} held={held} status={status} cost={spent ?? found?.costUSD ?? null} since={task.resumed ? '' : (found?.createdAt ?? '')}>
      {followed && found ? (
        <>
          <NoAnswer item={item} />
          {thread({
            store: followed.store,
            conversation: followed.conversation,
            outputs: followed.outputs,
            onOlder: followed.store.loadOlder,
            resumes: working && status === 'paused',
            address: `/conversations/${found.id}`,
            label: labelOf(task),
          })}
        </>
      ) : (
        <>
          <Told item={item} task={task} answer={answer} />
          {child.isError && <p className="banner bad">{describe(child.error)}</p>}
          {child.data === null && item.outcome && <p className="hint">{tr('Only the task and its answer are here: the sub-agent’s own conversation was deleted, or was not imported.')}</p>}
        </>
      )}
    </Line>
  );
}

// SharedTask is a task in a conversation that others read. That of the sub-agent is shown if
// it is shared, too.
function SharedTask({ task, ...props }: Known) {
  const thread = useContext(ThreadContext);
  const { item, open } = props;
  const about = useQuery({ ...sharedQuery(task.conversation), enabled: open && isGiven({ ...props, task }) });
  const store = useShared(open ? (about.data?.id ?? null) : null);
  return (
    <Line {...props} task={task} held={false} status={null} cost={null} since="">
      {store ? (
        <>
          <NoAnswer item={item} />
          {thread({ store, conversation: null, outputs: null, onOlder: store.loadOlder, resumes: false, address: `/shared/${task.conversation}`, label: labelOf(task) })}
        </>
      ) : (
        <>
          <Told item={item} task={task} answer={answerOf(item)} />
          {about.isError && <p className="hint">{tr('Only the task and its answer are shared.')}</p>}
        </>
      )}
    </Line>
  );
}

// useShared is the store of a shared conversation, as long as one is given.
function useShared(id: string | null): EventStore | null {
  const store = useMemo(() => (id === null ? null : new EventStore(shared(id))), [id]);
  useEffect(() => {
    store?.open();
    return () => store?.close();
  }, [store]);
  return store;
}

const nothing = () => {};

const labelOf = (task: AgentTask): string => tr('Thread of the sub-agent: {task}', { task: task.description || task.prompt.slice(0, 80) });

interface LineProps extends Known {
  held: boolean;
  status: Status | null; // of the sub-agent's conversation; null: not known
  cost: number | null;
  since: string; // when the sub-agent began, with a zone; empty: not known
  children: ReactNode;
}

// answerShown is how much of an answer is below a line that is closed, in characters.
const answerShown = 400;

function Line({ item, task, open, held, waiting, allowed, working, status, cost, since, onToggle, children }: LineProps) {
  const ending = endingOf(item);
  const failed = ending === 'failed' || ending === 'unstarted';
  const answer = answerOf(item);
  return (
    <div className={`action task${failed ? ' failed' : ''}${ending === 'rejected' ? ' rejected' : ''}`}>
      <button className="action-line" aria-expanded={open} aria-disabled={held || undefined} onClick={() => !held && onToggle(item.id, !open)}>
        <span className="action-icon">
          <Icon name="agent" size={14} />
        </span>
        <span className="action-verb">{nameOf(task)}</span>
        <span className="action-subject">{(task.description || task.prompt).slice(0, 400)}</span>
        <TaskState item={item} waiting={waiting} allowed={allowed} working={working} ending={ending} status={status} cost={cost} since={since} />
        <span className="action-chevron">
          <Icon name="chevron" size={12} />
        </span>
      </button>
      {!open && answer && (
        <p className={failed ? 'task-answer bad' : 'task-answer'}>
          <Plain text={answer.slice(0, answerShown)} />
        </p>
      )}
      {open && (
        <div className="task-thread">
          {item.reasoning && <p className="reasoning-text">{item.reasoning}</p>}
          {children}
        </div>
      )}
    </div>
  );
}

// nameOf returns the name of a sub-agent. The usual one needs no name.
const nameOf = ({ agent }: AgentTask): string => (agent === '' || agent === 'general-purpose' || agent === 'default' ? tr('Sub-agent') : tr('Sub-agent {name}', { name: agent }));

interface StateProps extends Pick<LineProps, 'item' | 'waiting' | 'allowed' | 'working' | 'status' | 'cost' | 'since'> {
  ending: Ending | null;
}

function TaskState({ item, waiting, allowed, working, ending, status, cost, since }: StateProps) {
  const busy = ending === null && working;
  const now = useNow(busy && since !== '');
  if (ending === null && waiting) return <Waits allowed={allowed} />;
  const shown = busy ? whileBusy(status) : status;
  const text = ending ? endings[ending] : shown ? statusText(shown) : '';
  const time = item.outcome ? duration(ran([item])) : busy && since && duration(now - Date.parse(since));
  const bad = ending ? ending === 'failed' || ending === 'unstarted' : shown === 'error';
  return (
    <span className={`state task-state${bad ? ' bad' : ending === null && shown === 'waiting_for_confirmation' ? ' warn' : ''}`}>
      {busy && <span className={`dot ${shown}`} aria-hidden="true" />}
      <span>{[text, spentText(cost), time].filter(Boolean).join(' · ')}</span>
    </span>
  );
}

const endings: Record<Ending, string> = {
  finished: tr('Finished'),
  interrupted: tr('Interrupted'),
  failed: tr('Failed'),
  unstarted: tr('Not started'),
  rejected: tr('rejected'),
};

// whileBusy is the status of a sub-agent before its task has an outcome: before its first
// step and behind its last one it is about to go on.
const whileBusy = (status: Status | null): Status => (status === null || status === 'idle' || status === 'finished' ? 'running' : status);

// useNow is the time, in milliseconds since 1970, of each second while it is wanted.
function useNow(wanted: boolean): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    if (!wanted) return;
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, [wanted]);
  return now;
}

// Told is a task and its answer, without how it was done.
function Told({ item, task, answer }: { item: ActionItem; task: AgentTask; answer: string }) {
  const message = { type: 'message' as const, id: item.id, time: item.time, images: [], reasoning: '' };
  return (
    <>
      <div className="timeline-row message">
        <Message item={{ ...message, from: 'user', text: task.prompt }} open={false} onToggle={nothing} />
      </div>
      {endingOf(item) === 'finished' || endingOf(item) === 'interrupted' ? (
        <div className="timeline-row message">
          <Message item={{ ...message, from: 'agent', text: answer }} open={false} onToggle={nothing} />
        </div>
      ) : (
        <NoAnswer item={item} />
      )}
    </>
  );
}

// NoAnswer says why a task has no answer.
function NoAnswer({ item }: { item: ActionItem }) {
  const { outcome } = item;
  if (outcome?.state === 'rejected') {
    return (
      <p className="banner warn">
        {outcome.by === 'hook' ? tr('A hook rejected this') : tr('You rejected this')}: {outcome.reason}
      </p>
    );
  }
  const ending = endingOf(item);
  return (ending === 'failed' || ending === 'unstarted') && <p className="banner bad">{answerOf(item)}</p>;
}
