import { useCallback, useMemo } from 'react';
import type { Conversation } from '../api/conversation';
import { Failure } from '../api/failure';
import type { Readable } from '../events/store';
import { pending } from '../events/timeline';
import { useView } from '../events/useView';
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
  if (!timeline || actions.length === 0) return null;
  return <Confirm key={actions[0]?.id} actions={actions} directory={timeline.directory} keys={keys} onAnswer={answer} />;
}

async function goOn(conversation: Conversation): Promise<void> {
  try {
    await conversation.run();
  } catch (error) {
    // That of a sub-agent goes on by itself.
    if (!(error instanceof Failure && error.status === 409)) throw error;
  }
}
