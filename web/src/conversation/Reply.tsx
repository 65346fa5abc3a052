import { useQueryClient } from '@tanstack/react-query';
import { memo, useCallback, useEffect, useRef, useState } from 'react';
import type { Conversation } from '../api/conversation';
import { conversationKey } from '../api/conversations';
import { store as storeFile } from '../api/files';
import type { ConversationSummary } from '../api/summary';
import type { EventStore } from '../events/store';
import { useView } from '../events/useView';
import { Composer } from './Composer';
import type { Draft } from './draft';
import { GoalBar } from './GoalBar';
import { PlanBar } from './PlanDialogs';
import { Queue } from './Queue';
import { keepQueued, queued } from './queue';
import { SandboxNotice } from './SandboxNotice';
import { SubAgentsWaiting } from './SubAgentsWaiting';
import { Waiting } from './Waiting';
import { tr } from '../i18n/text';

interface Props {
  conversation: Conversation;
  store: EventStore;
  summary: ConversationSummary;
  draft: Draft;
  onSent: () => void;
  onGoto: (event: string) => void;
}

// Reply is the foot of a conversation: questions to the user, and the box for a message.
// New events do not draw it again.
export const Reply = memo(function Reply({ conversation, store, summary, draft, onSent, onGoto }: Props) {
  const status = useView(store, (v) => v.timeline.status);
  return (
    <div className="chat-foot">
      {!conversation.live && <SandboxNotice summary={summary} />}
      {conversation.live && <GoalBar conversation={conversation} store={store} />}
      {summary.planner && status !== 'running' && <PlanBar summary={summary} />}
      {conversation.live && <Waiting conversation={conversation} store={store} keys="page" />}
      {conversation.live && <SubAgentsWaiting store={store} onGoto={onGoto} />}
      {summary.sandbox !== 'none' && <Box conversation={conversation} store={store} id={summary.id} running={conversation.live && status === 'running'} draft={draft} onSent={onSent} />}
    </div>
  );
});

// largestFile is how large an attached file may be, in bytes.
const largestFile = 100 << 20;

interface BoxProps extends Pick<Props, 'conversation' | 'store' | 'draft' | 'onSent'> {
  id: string;
  running: boolean;
}

function Box({ conversation, store, id, running, draft, onSent }: BoxProps) {
  const queries = useQueryClient();
  const loaded = useView(store, (v) => v.loaded);
  const live = useView(store, (v) => v.connection === 'live');
  const [text, setText] = useState(draft.get);
  const box = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    if (loaded && window.matchMedia('(min-width: 821px)').matches) box.current?.focus();
  }, [loaded]);
  const [messages, setMessages] = useState(() => queued(id));
  const change = useCallback((by: (before: string[]) => string[]) => setMessages(by), []);
  useEffect(() => keepQueued(id, messages), [id, messages]);
  const write = (next: string) => {
    draft.set(next);
    setText(next);
  };
  return (
    <>
      <Queue
        conversation={conversation}
        store={store}
        messages={messages}
        onMessages={change}
        onEdit={(old) => {
          write(text.trim() ? `${text.trim()}\n\n${old}` : old);
          box.current?.focus();
        }}
      />
      <Composer
        ref={box}
        label={tr('Message')}
        placeholder={running ? tr('Send a message; the agent reads it at its next step') : tr('Reply, or give the next task')}
        text={text}
        onText={write}
        busy={false}
        reachable={live}
        sendLabel={tr('Send')}
        onFile={(file) => (conversation.live ? (file.size > largestFile ? tr('{name} is larger than 100 MB.', { name: file.name }) : '') : tr('Resume the sandbox first: files go into it.'))}
        onSend={async (images, files) => {
          if (files.length > 0 && !store.get().loaded) throw new Error(tr('Files can be sent once the conversation has loaded.'));
          const paths: string[] = [];
          for (const file of files) {
            // A name of the user's disk must not lead elsewhere.
            const path = `uploads/${file.name.replace(/[/\\\0]/g, '_')}`;
            await storeFile(conversation, `${store.get().timeline.directory}/${path}`, file);
            paths.push(path);
          }
          await conversation.send([text.trim(), paths.length ? `Attached files: ${paths.map((p) => `\`${p}\``).join(', ')}` : ''].filter(Boolean).join('\n\n'), images);
          onSent();
          // A message starts a sandbox that does not run.
          if (!conversation.live) {
            draft.set('');
            await queries.invalidateQueries({ queryKey: conversationKey(id) });
          }
          return true;
        }}
        onQueue={
          running
            ? () => {
                change((all) => [...all, text.trim()]);
                write('');
                box.current?.focus();
              }
            : undefined
        }
      />
    </>
  );
}
