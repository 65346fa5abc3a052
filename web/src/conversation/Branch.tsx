import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useLocation } from 'wouter';
import { fork, keptFilesQuery, undo, undoPreviewQuery, type KeptFiles } from '../api/branching';
import type { Conversation } from '../api/conversation';
import { Dialog } from '../design/Dialog';
import type { MessageItem } from '../events/item';
import { Failed } from '../design/Failed';
import { FormDialog } from '../design/FormDialog';
import { language, number, tr } from '../i18n/text';

interface Props {
  id: string;
  event: string;
  kind: 'fork' | 'rewind';
  onClose: () => void;
}

// Branch goes on from an earlier event: here, or in a copy. The files come along.
export function Branch({ id, event, kind, onClose }: Props) {
  const [, navigate] = useLocation();
  const [keep, setKeep] = useState(false);
  const [at, setAt] = useState(event);
  const kept = useQuery(keptFilesQuery(id, at));
  // A rewind to where no action has followed needs no files; a fork has some of its own.
  const known = kept.data?.event === at && !(kind === 'fork' && kept.data.when === 'off');
  const unknown = kept.data !== undefined && !known;
  const back = useBack(id, at, kind === 'rewind' && known);
  const go = useMutation({
    mutationFn: async () => {
      if (kind === 'fork') navigate(`/conversations/${await fork(id, at, keep)}`);
      else await undo(id, at, keep, false);
    },
    onSuccess: onClose,
  });
  return (
    <Dialog title={kind === 'fork' ? tr('Fork from here?') : tr('Rewind to here?')} onClose={onClose}>
      <div className="dialog-form">
        <p>
          {kind === 'fork'
            ? tr('A new conversation begins with the events up to here, in a sandbox of its own with the files as they were then.')
            : tr('The conversation and its files go back to this event. What came later stays stored, as another branch.')}
        </p>
        {at !== event && <p className="hint">{tr('Here is an earlier event now, whose files were kept.')}</p>}
        {!keep && known && kept.data && <p className="hint">{kept.data.time ? tr('The files are those of {time}.', { time: clock(kept.data.time) }) : tr('The files are those of now: no action has followed.')}</p>}
        <Files back={kind === 'fork' ? null : back} keep={keep} label={kind === 'fork' ? tr('Work in the same files instead') : tr('Leave the files as they are')} onKeep={setKeep} />
        {!keep && unknown && kept.data && <NotKept kept={kept.data} kind={kind} onInstead={setAt} />}
        <Failed error={go.error ?? (keep ? null : (kept.error ?? (known ? back.error : null)))} />
        <div className="dialog-buttons">
          <button className="button" onClick={onClose}>
            {tr('Cancel')}
          </button>
          <button className="button primary" disabled={go.isPending || (!keep && (!known || back.isFetching))} onClick={() => go.mutate()}>
            {kind === 'fork' ? tr('Fork') : tr('Rewind')}
          </button>
        </div>
      </div>
    </Dialog>
  );
}

// NotKept says why there are no files of an event, and where the last ones before it are.
function NotKept({ kept, kind, onInstead }: { kept: KeptFiles; kind: 'fork' | 'rewind'; onInstead: (event: string) => void }) {
  const { event, time } = kept;
  return (
    <div className="banner warn" role="status">
      <p>
        {tr('The files of this step were not kept.')} {whyNot(kept)}
      </p>
      {event !== null && time !== null && kept.when !== 'off' && (
        <>
          <p>{tr('The last ones that were kept before it are of {time}.', { time: clock(time) })}</p>
          <button className="button" onClick={() => onInstead(event)}>
            {kind === 'fork' ? tr('Fork from there') : tr('Rewind to there')}
          </button>
        </>
      )}
    </div>
  );
}

function whyNot({ when, slow }: KeptFiles): string {
  if (when === 'off') return tr('Deft keeps no files of this conversation.');
  if (when === 'turn') return tr('Deft keeps them at each of your messages.');
  return slow
    ? tr('Keeping them takes long in this workspace: Deft does it at each of your messages only.')
    : tr('Deft keeps them before each step, but only at your messages where that takes too much time or space.');
}

const clock = (time: string): string => new Date(time).toLocaleString(language, { dateStyle: 'medium', timeStyle: 'medium' });

// EditSent sends another message in place of one: the conversation and its files go back to
// before it.
export function EditSent({ id, before, message, conversation, onClose }: { id: string; before: string; message: MessageItem; conversation: Conversation; onClose: () => void }) {
  const [text, setText] = useState(message.text);
  const [keep, setKeep] = useState(false);
  const [rewound, setRewound] = useState(false); // only the message is left to send
  const back = useBack(id, before, true);
  const go = useMutation({
    mutationFn: async () => {
      if (!rewound) await undo(id, before, keep, false);
      setRewound(true);
      await conversation.send(text.trim(), message.images);
    },
    onSuccess: onClose,
  });
  return (
    <FormDialog
      title={tr('Edit and send again')}
      button={tr('Send')}
      ready={!!text.trim() && (rewound || !back.isFetching || keep)}
      action={go}
      onClose={onClose}
    >
      <p className="hint">{tr('The conversation and its files go back to before this message. What came later stays stored, as another branch.')}</p>
      <textarea className="input" aria-label={tr('Message')} autoFocus required rows={6} value={text} onChange={(e) => setText(e.target.value)} />
      <Files back={back} keep={keep} label={tr('Leave the files as they are')} onKeep={setKeep} />
      {!go.error && !keep && <Failed error={back.error} />}
    </FormDialog>
  );
}

// useBack returns the effects of going back to an event.
function useBack(id: string, event: string, enabled: boolean) {
  return useQuery({ ...undoPreviewQuery(id, event), enabled });
}

function Files({ back, keep, label, onKeep }: { back: ReturnType<typeof useBack> | null; keep: boolean; label: string; onKeep: (keep: boolean) => void }) {
  const files = back?.data ? [...back.data.written.map((f) => tr('{file} comes back', { file: f })), ...back.data.removed.map((f) => tr('{file} is removed', { file: f }))] : [];
  return (
    <>
      {!keep && files.length > 0 && (
        <ul className="hint">
          {files.slice(0, 10).map((f) => (
            <li key={f}>{f}</li>
          ))}
          {files.length > 10 && <li>{tr('and {n} more', { n: number(files.length - 10) })}</li>}
        </ul>
      )}
      {!keep && back?.data?.checkout && <p className="hint">{tr('Git goes back to {commit}. Later commits stay in its reflog.', { commit: back.data.checkout })}</p>}
      {!keep && back?.data?.checkoutKept && <p className="hint">{tr('What Git has checked out stays: {reason}.', { reason: back.data.checkoutKept })}</p>}
      <label className="row">
        <input type="checkbox" checked={keep} onChange={(e) => onKeep(e.target.checked)} />
        {label}
      </label>
    </>
  );
}
