import { useQuery } from '@tanstack/react-query';
import { Link } from 'wouter';
import { conversationQuery } from '../api/conversations';
import { describe } from '../api/failure';
import type { ConversationSummary } from '../api/summary';
import { tr } from '../i18n/text';
import { OpenConversation } from './OpenConversation';
import './conversation.css';
import './thread.css';

export default function ConversationPage({ id, panel }: { id: string; panel: string | null }) {
  const summary = useQuery({ ...conversationQuery(id), refetchInterval: ({ state }) => (state.data && untitled(state.data) ? 2000 : 30_000) });
  if (summary.data === null) return <Gone />;
  if (summary.data === undefined) return summary.isError ? <Unopened error={summary.error} onRetry={() => void summary.refetch()} /> : <p className="hint late panel-body">{tr('Loading …')}</p>;
  // Another state of the sandbox means another connection.
  return <OpenConversation key={summary.data.sessionKey ?? summary.data.sandbox} id={id} panel={panel} summary={summary.data} />;
}

// titleTime is the time after a run in which the model may write the title of a conversation,
// in milliseconds.
const titleTime = 40_000;

// untitled reports whether the title may change soon: no event tells of a new title.
function untitled({ status, updatedAt }: ConversationSummary): boolean {
  return status !== 'running' && Math.abs(Date.now() - Date.parse(updatedAt)) < titleTime;
}

function Gone() {
  return (
    <div className="center">
      <h1>{tr('There is no such conversation')}</h1>
      <p>{tr('It was deleted, or belongs to someone else.')}</p>
      <Link className="button" href="/">
        {tr('New task')}
      </Link>
    </div>
  );
}

function Unopened({ error, onRetry }: { error: Error; onRetry: () => void }) {
  return (
    <div className="center">
      <h1>{tr('The conversation cannot be opened')}</h1>
      <p>{describe(error)}</p>
      <button className="button" onClick={onRetry}>
        {tr('Try again')}
      </button>
    </div>
  );
}
