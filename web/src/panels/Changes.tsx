import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { quoted, type Change, type Conversation } from '../api/conversation';
import { describe } from '../api/failure';
import { Dialog } from '../design/Dialog';
import { Icon } from '../design/Icon';
import { save } from '../design/save';
import type { Timeline } from '../events/timeline';
import DiffView from './DiffView';

const marks: Record<string, string> = { ADDED: 'A', UPDATED: 'M', DELETED: 'D', MOVED: 'R' };
const words: Record<string, string> = { ADDED: 'added', UPDATED: 'changed', DELETED: 'deleted', MOVED: 'moved' };

// Changes shows what differs in the workspace from where the work began.
export function Changes({ conversation, timeline }: { conversation: Conversation; timeline: Timeline }) {
  const [open, setOpen] = useState<string | null>(null);
  const [split, setSplit] = useState(false);
  const directory = timeline.directory;
  // The agent changes files by actions: each of their results makes a new state.
  const step = timeline.items.length;
  const changes = useQuery({
    queryKey: ['changes', conversation.id, directory, step],
    queryFn: () => conversation.changes(directory),
    enabled: directory !== '',
    placeholderData: (old) => old,
  });
  const items = changes.data ?? [];
  const [committing, setCommitting] = useState(false);
  const [message, setMessage] = useState('');
  const [discarding, setDiscarding] = useState<Change | null>(null);
  const work = useMutation({ mutationFn: (action: () => Promise<void>) => action(), onSettled: () => void changes.refetch() });
  // Git runs inside the sandbox: the repository's configuration is not trusted elsewhere.
  const commit = async () => {
    const name = 'git -c user.name="$(git config user.name || echo Deft)" -c user.email="$(git config user.email || echo deft@localhost)"';
    await conversation.command(`git add -A && ${name} commit -q -m ${quoted(message.trim())}`, directory);
    setCommitting(false);
    setMessage('');
  };
  const discard = async (c: Change) => {
    const path = quoted(c.path);
    await conversation.command(c.status === 'ADDED' ? `git rm -q -f --cached --ignore-unmatch -- ${path}; rm -f -- ${path}` : `git checkout -q HEAD -- ${path}`, directory);
  };
  const patch = async () => {
    const text = await conversation.command('git add -AN && { git diff --binary HEAD 2>/dev/null || git diff --binary; }', directory);
    save(new Blob([text]), 'changes.patch');
  };
  return (
    <div className="panel-body">
      <div className="panel-tools">
        <span className="grow hint">{items.length === 1 ? '1 file changed' : `${items.length} files changed`}</span>
        <label className="row">
          <input type="checkbox" checked={split} onChange={(e) => setSplit(e.target.checked)} /> Side by side
        </label>
        <button className="button quiet" disabled={items.length === 0 || work.isPending} onClick={() => work.mutate(patch)}>
          Patch
        </button>
        <button className="button" disabled={items.length === 0 || work.isPending} onClick={() => setCommitting(true)}>
          Commit
        </button>
        <button className="icon-button" aria-label="Refresh" onClick={() => void changes.refetch()}>
          <Icon name="refresh" size={14} />
        </button>
      </div>
      {(changes.isError || work.isError) && (
        <p className="banner bad" role="alert">
          {describe(work.error ?? changes.error)}
        </p>
      )}
      {committing && (
        <form
          className="row commit"
          onSubmit={(e) => {
            e.preventDefault();
            work.mutate(commit);
          }}
        >
          <input className="input" aria-label="Message of the commit" autoFocus required placeholder="What was changed, and why" value={message} onChange={(e) => setMessage(e.target.value)} />
          <button className="button primary" disabled={work.isPending}>
            Commit all
          </button>
        </form>
      )}
      {discarding && (
        <Dialog title="Discard the changes?" onClose={() => setDiscarding(null)}>
          <div className="dialog-form">
            <p>
              <code>{discarding.path}</code> becomes what it was at the last commit.
            </p>
            <div className="dialog-buttons">
              <button className="button" autoFocus onClick={() => setDiscarding(null)}>
                Cancel
              </button>
              <button className="button danger" onClick={() => (work.mutate(() => discard(discarding)), setDiscarding(null))}>
                Discard
              </button>
            </div>
          </div>
        </Dialog>
      )}
      {changes.isSuccess && items.length === 0 && <p className="center">Nothing has changed yet.</p>}
      <ul className="change-list">
        {items.map((c) => (
          <li key={c.path}>
            <button className="change" aria-expanded={open === c.path} onClick={() => setOpen(open === c.path ? null : c.path)}>
              <span className={`change-mark ${c.status}`} title={words[c.status]}>
                <span aria-hidden="true">{marks[c.status]}</span>
                <span className="visually-hidden">{words[c.status]}</span>
              </span>
              <code className="ellipsis">{c.path}</code>
              <span className="action-chevron">
                <Icon name="chevron" size={12} />
              </span>
            </button>
            {open === c.path && (
              <p className="change-tools">
                <button className="button quiet" disabled={work.isPending} onClick={() => setDiscarding(c)}>
                  Discard
                </button>
              </p>
            )}
            {open === c.path && <Diff conversation={conversation} path={absolute(directory, c.path)} step={step} split={split} />}
          </li>
        ))}
      </ul>
    </div>
  );
}

function Diff({ conversation, path, step, split }: { conversation: Conversation; path: string; step: number; split: boolean }) {
  const diff = useQuery({
    queryKey: ['diff', conversation.id, path, step],
    queryFn: () => conversation.diff(path),
    placeholderData: (old) => old,
  });
  if (diff.isError) return <p className="banner bad">{describe(diff.error)}</p>;
  if (!diff.data) return null;
  return <DiffView before={diff.data.original ?? ''} after={diff.data.modified ?? ''} path={path} split={split} />;
}

function absolute(directory: string, path: string): string {
  return path.startsWith('/') ? path : `${directory}/${path}`;
}
