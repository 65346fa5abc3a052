import { useEffect, useState } from 'react';
import { connect, type Conversation } from '../api/conversation';
import type { ConversationSummary } from '../api/summary';
import { Outputs } from '../events/output';
import { EventStore } from '../events/store';

// Followed is a conversation whose events come.
export interface Followed {
  conversation: Conversation;
  store: EventStore;
  outputs: Outputs | null; // null: its sandbox does not run
}

// useFollowed follows a conversation as long as the component is there and a summary is
// given. A sandbox that starts, pauses or is made anew means another connection.
export function useFollowed(summary: ConversationSummary | null): Followed | null {
  const [followed, setFollowed] = useState<Followed | null>(null);
  const key = summary && `${summary.id} ${summary.sessionKey ?? summary.sandbox}`;
  useEffect(() => {
    if (!summary) return;
    const conversation = connect(summary);
    const store = new EventStore(conversation);
    const outputs = conversation.live ? new Outputs(conversation) : null;
    store.open();
    setFollowed({ conversation, store, outputs });
    return () => {
      store.close();
      outputs?.close();
      setFollowed(null);
    };
  }, [key]); // the rest of the summary changes nothing
  return followed;
}
