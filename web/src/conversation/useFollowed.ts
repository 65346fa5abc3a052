import { useEffect, useState } from 'react';
import { connect, type Conversation } from '../api/conversation';
import type { ConversationSummary } from '../api/summary';
import { Outputs } from '../events/output';
import { EventStore } from '../events/store';

// Followed is a conversation with the store that its events come to.
export interface Followed {
  key: string;
  conversation: Conversation;
  store: EventStore;
  outputs: Outputs | null; // null: its sandbox does not run
}

// useFollowed follows a conversation as long as the component is there and a summary is
// given. Another state of the sandbox means another connection.
export function useFollowed(summary: ConversationSummary | null): Followed | null {
  const [followed, setFollowed] = useState<Followed | null>(null);
  const key = summary && keyOf(summary);
  if ((followed?.key ?? null) !== key) setFollowed(summary && follow(summary));
  useEffect(() => {
    if (!followed) return;
    followed.store.open();
    return () => {
      followed.store.close();
      followed.outputs?.close();
    };
  }, [followed]);
  return followed;
}

const keyOf = ({ id, sessionKey, sandbox }: ConversationSummary): string => `${id} ${sessionKey ?? sandbox}`;

function follow(summary: ConversationSummary): Followed {
  const conversation = connect(summary);
  return { key: keyOf(summary), conversation, store: new EventStore(conversation), outputs: conversation.live ? new Outputs(conversation) : null };
}
