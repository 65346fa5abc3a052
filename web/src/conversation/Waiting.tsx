import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useCallback, useMemo } from 'react';
import type { Conversation } from '../api/conversation';
import { describe } from '../api/failure';
import { answerQuestions, questionsQuery, type Answer } from '../api/questions';
import type { Readable } from '../events/store';
import { pending } from '../events/timeline';
import { useView } from '../events/useView';
import { tr } from '../i18n/text';
import { Confirm } from './Confirm';

interface Props {
  conversation: Conversation;
  store: Readable;
  takesFocus: boolean;
}

// Waiting asks for the user's decision on actions, while the conversation waits for it.
export function Waiting({ conversation, store, takesFocus }: Props) {
  const timeline = useView(store, (v) => (v.timeline.status === 'waiting_for_confirmation' ? v.timeline : null));
  const actions = useMemo(() => (timeline ? pending(timeline) : []), [timeline]);
  const questions = useQuery({ ...questionsQuery(conversation, actions.map((a) => a.id), timeline?.answered ?? 0), enabled: actions.length > 0, placeholderData: keepPreviousData });
  const { refetch } = questions;
  const answer = useCallback(
    async (answers: Record<string, Answer>) => {
      try {
        await answerQuestions(conversation, answers);
      } finally {
        await refetch(); // another tab may have answered
      }
    },
    [conversation, refetch],
  );
  if (actions.length === 0) return null;
  if (questions.isError) return <Unworded error={questions.error} onRetry={() => void refetch()} />;
  const open = questions.data?.filter((q) => actions.some((a) => a.id === q.action_id)) ?? [];
  if (open.length === 0) return null;
  return <Confirm questions={open} takesFocus={takesFocus} onAnswer={answer} />;
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
