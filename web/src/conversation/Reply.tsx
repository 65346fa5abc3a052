import { useQueryClient } from '@tanstack/react-query';
import { memo, useEffect, useRef } from 'react';
import type { Conversation } from '../api/conversation';
import { conversationKey } from '../api/conversations';
import { store as storeFile } from '../api/files';
import { promptsQuery } from '../api/prompts';
import { addQueued } from '../api/queue';
import type { ConversationSummary } from '../api/summary';
import type { EventStore } from '../events/store';
import { pending } from '../events/timeline';
import { useView } from '../events/useView';
import { Composer } from './Composer';
import { addToDraft, useDraft } from './draft';
import { GoalBar } from './GoalBar';
import { HooksQuestion } from './HooksQuestion';
import { PlanBar } from './PlanDialogs';
import { Queue } from './Queue';
import { SandboxNotice } from './SandboxNotice';
import { SubAgentsWaiting } from './SubAgentsWaiting';
import { Waiting } from './Waiting';
import { plural, tr } from '../i18n/text';

interface Props {
  conversation: Conversation;
  store: EventStore;
  summary: ConversationSummary;
  onSent: () => void;
  onGoto: (id: string, text: string) => void;
}

// Reply is the foot of a conversation: questions to the user, and the box for a message.
// New events do not draw it again.
export const Reply = memo(function Reply({ conversation, store, summary, onSent, onGoto }: Props) {
  const status = useView(store, (v) => v.timeline.status);
  return (
    <div className="chat-foot">
      {!conversation.live && <SandboxNotice summary={summary} />}
      {conversation.live && <GoalBar conversation={conversation} store={store} />}
      {summary.planner && status !== 'running' && <PlanBar summary={summary} />}
      {conversation.live && <HooksQuestion conversation={conversation} store={store} />}
      {conversation.live && <Waiting conversation={conversation} store={store} takesFocus />}
      {conversation.live && <SubAgentsWaiting store={store} onGoto={onGoto} />}
      {summary.sandbox !== 'none' && <Box conversation={conversation} store={store} id={summary.id} running={conversation.live && status === 'running'} onSent={onSent} />}
    </div>
  );
});

// largestFile is how large an attached file may be, in bytes.
const largestFile = 100 << 20;

interface BoxProps extends Pick<Props, 'conversation' | 'store' | 'onSent'> {
  id: string;
  running: boolean;
}

function Box({ conversation, store, id, running, onSent }: BoxProps) {
  const queries = useQueryClient();
  const loaded = useView(store, (v) => v.loaded);
  const live = useView(store, (v) => v.connection === 'live');
  const waiting = useView(store, (v) => (conversation.live ? pending(v.timeline).length : 0));
  const [text, write] = useDraft(id);
  const box = useRef<HTMLTextAreaElement>(null);
  const before = useRef(document.activeElement);
  useEffect(() => {
    // Who has moved the focus meanwhile, to a menu or a search, keeps it there.
    const unmoved = document.activeElement === document.body || document.activeElement === before.current;
    if (loaded && unmoved && window.matchMedia('(min-width: 821px)').matches) box.current?.focus();
  }, [loaded]);
  // withFiles stores the files in the sandbox, and returns the text with their paths.
  const withFiles = async (files: File[]): Promise<string> => {
    if (files.length > 0 && !conversation.live) throw new Error(tr('Resume the sandbox first: files go into it.'));
    const directory = files.length > 0 ? await store.directory() : '';
    const paths: string[] = [];
    for (const file of files) {
      // A name of the user's disk must not lead elsewhere.
      const path = `uploads/${file.name.replace(/[/\\\0]/g, '_')}`;
      await storeFile(conversation, `${directory}/${path}`, file);
      paths.push(path);
    }
    return [text.trim(), paths.length ? `Attached files: ${paths.map((p) => `\`${p}\``).join(', ')}` : ''].filter(Boolean).join('\n\n');
  };
  return (
    <>
      {conversation.live && (
        <Queue
          conversation={conversation}
          store={store}
          onReturn={(late) => {
            addToDraft(id, late);
            box.current?.focus();
          }}
        />
      )}
      <Composer
        ref={box}
        place={id}
        label={tr('Message')}
        placeholder={
          waiting > 0
            ? plural(waiting, 'A message rejects the action that waits', 'A message rejects the {n} actions that wait')
            : running
              ? tr('Send a message; the agent reads it at its next step')
              : tr('Reply, or give the next task')
        }
        text={text}
        onText={write}
        busy={false}
        reachable={live}
        sendLabel={waiting > 0 ? tr('Reject and send') : tr('Send')}
        prompts={conversation.live ? promptsQuery(conversation) : undefined}
        onFile={(file) => (conversation.live ? (file.size > largestFile ? tr('{name} is larger than 100 MB.', { name: file.name }) : '') : tr('Resume the sandbox first: files go into it.'))}
        onSend={async (images, files) => {
          await conversation.send(await withFiles(files), images);
          onSent();
          // A message starts a sandbox that does not run.
          if (!conversation.live) {
            write('');
            await queries.invalidateQueries({ queryKey: conversationKey(id) });
          }
          return true;
        }}
        onQueue={
          running || waiting > 0
            ? async (files) => {
                await addQueued(conversation, await withFiles(files));
                box.current?.focus();
              }
            : undefined
        }
      />
    </>
  );
}
