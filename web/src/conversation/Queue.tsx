import { useEffect, useState } from 'react';
import type { Conversation } from '../api/conversation';
import { describe } from '../api/failure';
import { editQueued, removeQueued, sendQueued } from '../api/queue';
import { Icon } from '../design/Icon';
import { sends } from '../design/touch';
import type { EventStore } from '../events/store';
import { useView } from '../events/useView';
import { tr } from '../i18n/text';

interface Props {
  conversation: Conversation;
  store: EventStore;
  onReturn: (text: string) => void; // of a message that was sent or removed while it was edited
}

// Queue are messages that the server sends, one after the other, when the agent has ended. Until
// then they can be changed in every tab.
export function Queue({ conversation, store, onReturn }: Props) {
  const messages = useView(store, (v) => v.timeline.queue);
  const unsent = useView(store, (v) => v.timeline.unsent);
  const rejects = useView(store, (v) => v.timeline.status === 'waiting_for_confirmation');
  const stopped = useView(store, (v) => ['paused', 'error', 'stuck'].includes(v.timeline.status));
  const [edited, setEdited] = useState<{ id: string; text: string; before: string } | null>(null);
  const [busy, setBusy] = useState('');
  const [problem, setProblem] = useState('');

  useEffect(() => {
    if (!edited) return;
    return store.subscribe(() => {
      if (store.get().timeline.queue.some((m) => m.id === edited.id)) return;
      setEdited(null);
      if (edited.text.trim() === edited.before.trim()) return;
      setProblem(tr('The message was sent or removed while you changed it. Your text is in the box below.'));
      onReturn(edited.text);
    });
  }, [edited, store, onReturn]);
  const act = async (id: string, change: () => Promise<unknown>): Promise<void> => {
    setProblem('');
    setBusy(id);
    try {
      await change();
    } catch (error) {
      setProblem(describe(error));
    } finally {
      setBusy('');
    }
  };
  const save = async (): Promise<void> => {
    if (edited?.text.trim())
      await act(edited.id, async () => {
        await editQueued(conversation, edited.id, edited.text.trim());
        setEdited(null);
      });
  };
  const reason = problem || unsent;
  if (messages.length === 0 && !reason) return null;
  return (
    <section className="queue" aria-label={tr('Queued messages')}>
      {messages.length > 0 && <p className="hint">{stopped ? tr('They wait until the agent has gone on and ended:') : tr('Sent when the agent has ended:')}</p>}
      <ol>
        {messages.map(({ id, text }) =>
          id === edited?.id ? (
            <li key={id} className="queue-edit">
              <textarea
                className="input"
                aria-label={tr('Queued message')}
                rows={3}
                autoFocus
                onFocus={(e) => e.currentTarget.setSelectionRange(e.currentTarget.value.length, e.currentTarget.value.length)}
                value={edited.text}
                onChange={(e) => setEdited({ ...edited, text: e.target.value })}
                onKeyDown={(e) => {
                  if (e.key === 'Escape') setEdited(null);
                  if (!sends(e)) return;
                  e.preventDefault();
                  void save();
                }}
              />
              <button className="button primary" disabled={busy === id || !edited.text.trim()} onClick={() => void save()}>
                {tr('Save')}
              </button>
              <button className="button" onClick={() => setEdited(null)}>
                {tr('Cancel')}
              </button>
            </li>
          ) : (
            <li key={id}>
              <span className="grow queue-text">{text}</span>
              <button className="icon-button" disabled={busy === id} aria-label={rejects ? tr('Reject what waits, and send “{text}”', { text: short(text) }) : tr('Send “{text}” now', { text: short(text) })} title={rejects ? tr('Reject and send') : tr('Send it now')} onClick={() => void act(id, () => sendQueued(conversation, id))}>
                <Icon name="send" size={14} />
              </button>
              <button className="icon-button" disabled={busy === id || edited !== null} aria-label={tr('Edit “{text}”', { text: short(text) })} title={tr('Edit')} onClick={() => setEdited({ id, text, before: text })}>
                <Icon name="pencil" size={14} />
              </button>
              <button className="icon-button" disabled={busy === id} aria-label={tr('Remove “{text}”', { text: short(text) })} title={tr('Remove')} onClick={() => void act(id, () => removeQueued(conversation, id))}>
                <Icon name="close" size={14} />
              </button>
            </li>
          ),
        )}
      </ol>
      {reason && (
        <p className="banner bad" role="alert">
          <span className="grow">{problem || tr('The first message could not be sent: {reason}', { reason: unsent })}</span>
          {problem && (
            <button className="button quiet" onClick={() => setProblem('')}>
              {tr('Close')}
            </button>
          )}
        </p>
      )}
    </section>
  );
}

const short = (text: string): string => (text.length > 60 ? `${text.slice(0, 60)}…` : text);
