import { useMemo, useState, type ReactNode } from 'react';
import type { Conversation } from '../api/conversation';
import { beginning } from '../events/branch';
import type { MessageItem } from '../events/item';
import { settledAt } from '../events/settled';
import type { EventStore } from '../events/store';
import { Branch, EditSent } from './Branch';
import type { Branching } from './branching';

type Asked = { kind: 'fork' | 'rewind'; event: string } | { kind: 'edit'; message: MessageItem; before: string };

// useBranching goes on from an earlier event of a conversation. The dialog asks first.
export function useBranching(conversation: Conversation, store: EventStore, id: string): { onBranch: Branching; dialog: ReactNode } {
  const [asked, setAsked] = useState<Asked | null>(null);
  const onBranch = useMemo<Branching>(
    () => ({
      from: (kind, event) => setAsked({ kind, event: settledAt(store.get().shown.events, event) }),
      edit: (message) => setAsked({ kind: 'edit', message, before: store.get().shown.events.find((e) => e.id === message.id)?.parent_id ?? beginning }),
    }),
    [store],
  );
  const close = () => setAsked(null);
  if (asked === null) return { onBranch, dialog: null };
  const dialog =
    asked.kind === 'edit' ? (
      <EditSent id={id} before={asked.before} message={asked.message} conversation={conversation} onClose={close} />
    ) : (
      <Branch id={id} kind={asked.kind} event={asked.event} onClose={close} />
    );
  return { onBranch, dialog };
}
