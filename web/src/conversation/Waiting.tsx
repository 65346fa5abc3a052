import { useQuery } from '@tanstack/react-query';
import { useCallback, useMemo } from 'react';
import type { Conversation } from '../api/conversation';
import { describe, Failure } from '../api/failure';
import { questionsQuery } from '../api/questions';
import type { Readable } from '../events/store';
import { pending } from '../events/timeline';
import { useView } from '../events/useView';
import { tr } from '../i18n/text';
import { Confirm } from './Confirm';

interface Props {
  conversation: Conversation;
  store: Readable;
  keys: 'page' | 'inside'; // where Y and N answer
}

// Waiting asks for the user's decision on actions, while the conversation waits for it.
export function Waiting({ conversation, store, keys }: Props) {
  const timeline = useView(store, (v) => (v.timeline.status === 'waiting_for_confirmation' ? v.timeline : null));
  const actions = useMemo(() => (timeline ? pending(timeline) : []), [timeline]);
  const answer = useCallback(
    async (accept: boolean, reason: string) => {
      await conversation.answer(accept, reason);
      // A reason is for the agent to go on with; without one it waits for a message.
      if (!accept && reason) await goOn(conversation);
    },
    [conversation],
  );
  const questions = useQuery({ ...questionsQuery(conversation, actions.map((a) => a.id)), enabled: actions.length > 0 });
  if (actions.length === 0) return null;
  if (questions.isError) return <Unworded error={questions.error} onRetry={() => void questions.refetch()} />;
  if (!questions.data || questions.data.length === 0) return null;
  return <Confirm key={actions[0]?.id} questions={questions.data} keys={keys} onAnswer={answer} />;
}

// Unworded takes the place of an unknown question: nobody should allow an unseen action.
function Unworded({ error, onRetry }: { error: Error; onRetry: () => void }) {
  return (
    <p className="banner bad" role="alert">
      <span className="grow">{tr('The agent asks for something that cannot be shown: {reason}', { reason: describe(error) })}</span>
      <button className="button" onClick={onRetry}>
        {tr('Try again')}
      </button>
    </p>
  );
}

async function goOn(conversation: Conversation): Promise<void> {
  try {
    await conversation.run();
  } catch (error) {
    // A sub-agent's conversation goes on by itself.
    if (!(error instanceof Failure && error.status === 409)) throw error;
  }
}
