import { useEffect, useRef, useState } from 'react';
import type { Conversation } from '../api/conversation';
import { describe } from '../api/failure';
import type { EventStore } from '../events/store';
import { useView } from '../events/useView';
import { Icon } from '../design/Icon';
import { tr } from '../i18n/text';

interface Props {
  conversation: Conversation;
  store: EventStore;
  messages: string[];
  onMessages: (change: (before: string[]) => string[]) => void;
  onEdit: (text: string) => void;
}

// Queue are messages that are sent when the agent has ended. Until then they can be
// changed.
export function Queue({ conversation, store, messages, onMessages, onEdit }: Props) {
  const status = useView(store, (v) => v.timeline.status);
  const live = useView(store, (v) => v.connection === 'live');
  const [problem, setProblem] = useState('');
  const sending = useRef(false);
  const ended = live && (status === 'finished' || status === 'idle');
  const take = (i: number) => onMessages((all) => all.filter((_, n) => n !== i));

  useEffect(() => {
    const first = messages[0];
    if (!ended || first === undefined || sending.current || problem) return;
    sending.current = true;
    // The first one starts a run; the agent reads the others at its next steps.
    void (async () => {
      try {
        for (const text of messages) {
          await conversation.send(text, []);
          onMessages((all) => all.slice(1));
        }
      } catch (error) {
        setProblem(describe(error));
      } finally {
        sending.current = false;
      }
    })();
  }, [ended, messages, conversation, onMessages, problem]);

  if (messages.length === 0) return null;
  return (
    <section className="queue" aria-label={tr('Queued messages')}>
      <p className="hint">{problem ? tr('These were not sent.') : tr('Sent when the agent has ended:')}</p>
      <ol>
        {messages.map((text, i) => (
          <li key={`${i} ${text}`}>
            <span className="grow ellipsis">{text}</span>
            <button
              className="icon-button"
              aria-label={tr('Edit “{text}”', { text })}
              onClick={() => {
                take(i);
                onEdit(text);
              }}
            >
              <Icon name="pencil" size={14} />
            </button>
            <button className="icon-button" aria-label={tr('Remove “{text}”', { text })} onClick={() => take(i)}>
              <Icon name="close" size={14} />
            </button>
          </li>
        ))}
      </ol>
      {problem && (
        <p className="banner bad" role="alert">
          <span className="grow">{problem}</span>
          <button className="button" onClick={() => setProblem('')}>
            {tr('Try again')}
          </button>
        </p>
      )}
    </section>
  );
}
