import { useEffect, useState } from 'react';
import type { Conversation } from '../api/conversation';
import type { ConversationSummary, Source } from '../api/source';
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
export function useFollowed(source: Source | null, summary: ConversationSummary | null): Followed | null {
  const [followed, setFollowed] = useState<Followed | null>(null);
  const key = source && summary && `${summary.id} ${summary.sessionKey ?? summary.sandbox}`;
  useEffect(() => {
    if (!source || !summary) return;
    const conversation = source.connect(summary);
    const store = new EventStore(conversation);
    const outputs = conversation.live ? new Outputs(conversation) : null;
    store.open();
    setFollowed({ conversation, store, outputs });
    return () => {
      store.close();
      outputs?.close();
      setFollowed(null);
    };
  }, [source, key]); // the rest of the summary changes nothing
  return followed;
}
