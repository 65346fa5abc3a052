import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { Conversation } from '../api/conversation';
import { describe } from '../api/failure';
import { Icon } from '../design/Icon';
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
  return (
    <div className="panel-body">
      <div className="panel-tools">
        <span className="grow hint">{items.length === 1 ? '1 file changed' : `${items.length} files changed`}</span>
        <label className="row">
          <input type="checkbox" checked={split} onChange={(e) => setSplit(e.target.checked)} /> Side by side
        </label>
        <button className="icon-button" aria-label="Refresh" onClick={() => void changes.refetch()}>
          <Icon name="refresh" size={14} />
        </button>
      </div>
      {changes.isError && (
        <p className="banner bad" role="alert">
          {describe(changes.error)}
        </p>
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
