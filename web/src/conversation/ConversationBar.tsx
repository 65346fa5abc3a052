import { useQuery } from '@tanstack/react-query';
import { Link } from 'wouter';
import type { Conversation } from '../api/conversation';
import { isTaskQuery } from '../api/conversationQueries';
import { conversationQuery } from '../api/conversations';
import { dashed } from '../api/ids';
import type { ConversationSummary, Status } from '../api/summary';
import { statusText } from '../design/format';
import { Icon } from '../design/Icon';
import type { EventStore } from '../events/store';
import { useView } from '../events/useView';
import { tr } from '../i18n/text';
import { ConversationMenu } from './ConversationMenu';
import { Meter } from './Meter';
import type { Control } from './useControl';

interface Props {
  conversation: Conversation;
  store: EventStore;
  summary: ConversationSummary;
  status: Status;
  control: Control;
  onFind: () => void;
  onFailure: (text: string) => void;
}

// ConversationBar is the head of a conversation: title, state, cost, and its control.
export function ConversationBar({ conversation, store, summary, status, control, onFind, onFailure }: Props) {
  return (
    <header className="bar">
      {summary.parent && <Whole id={summary.parent} part={summary.id} />}
      <h1 className="ellipsis">{summary.title}</h1>
      <span className={`status ${status}`} role="status">
        <span className={`dot ${status}`} aria-hidden="true" /> {statusText(status)}
      </span>
      {summary.directory && (
        <code className="bar-directory ellipsis" title={summary.directory}>
          <span className="visually-hidden">{tr('Directory')}: </span>
          {summary.directory}
        </code>
      )}
      <span className="grow" />
      <StoreMeter store={store} />
      {status === 'running' && (
        <>
          <Pause control={control} />
          <button className="button" title={tr('Stop now (Ctrl+.)')} onClick={control.interrupt}>
            <Icon name="stop" size={14} /> {tr('Stop')}
          </button>
        </>
      )}
      {status === 'paused' && (
        <button className="button" onClick={control.run}>
          <Icon name="play" size={14} /> {tr('Resume')}
        </button>
      )}
      <ConversationMenu conversation={conversation} summary={summary} onFind={onFind} onCondense={control.condense} onFailure={onFailure} />
    </header>
  );
}

function Pause({ control }: { control: Control }) {
  const text = control.pausing ? tr('Pausing …') : tr('Pause');
  return (
    <button className="button quiet" aria-label={text} title={tr('Stop after the current step')} aria-disabled={control.pausing || undefined} onClick={() => control.pausing || control.pause()}>
      <Icon name="pause" size={14} /> <span className={control.pausing ? '' : 'wide'}>{text}</span>
    </button>
  );
}

// StoreMeter is apart from the bar, so that events draw nothing else again.
function StoreMeter({ store }: { store: EventStore }) {
  return <Meter usage={useView(store, (v) => v.timeline.usage)} />;
}

// Whole leads from a part to its conversation, and there to the task of the sub-agent that
// works in the part.
function Whole({ id, part }: { id: string; part: string }) {
  const { data: whole } = useQuery(conversationQuery(id));
  const task = useQuery(isTaskQuery(whole, part));
  if (whole === null) return null; // it was deleted
  return (
    <Link className="button quiet whole" href={`/conversations/${id}${task.data ? `?event=${dashed(part)}` : ''}`} title={tr('To the conversation that this is a part of')}>
      <Icon name="up" size={14} />
      <span className="visually-hidden">{tr('To the conversation that this is a part of')}: </span>
      <span className="ellipsis">{whole?.title}</span>
    </Link>
  );
}
