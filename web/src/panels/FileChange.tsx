import { useQuery } from '@tanstack/react-query';
import { Link } from 'wouter';
import type { Conversation } from '../api/conversation';
import { describe } from '../api/failure';
import { diffQuery, movedDiffQuery, type Change } from '../api/git';
import DiffView from './DiffView';
import { number, tr } from '../i18n/text';
import { trNodes } from '../i18n/nodes';

interface Props {
  repository: boolean; // the file is a Git repository within this one
  conversation: Conversation;
  change: Change;
  directory: string;
  step: number;
  split: boolean;
}

// FileChange is the change of one file: its text, name and mode.
export function FileChange({ repository, conversation, change, directory, step, split }: Props) {
  const mode = modeText(change);
  return (
    <div className="file-change">
      {change.from !== undefined && <p className="hint">{trNodes('Moved from {path}', { path: <code>{change.from}</code> })}</p>}
      {mode && <p className="hint">{mode.sentence}</p>}
      {repository ? (
        <p className="hint">{tr('This is a Git repository of its own: its files belong to it.')}</p>
      ) : change.binary ? (
        <p className="hint">
          {tr('This is no text, or it is very large: it is not compared line by line.')}{' '}
          {change.status !== 'DELETED' && <Link href={`/conversations/${conversation.id}/files?${new URLSearchParams({ file: change.path }).toString()}`}>{tr('Show the file')}</Link>}
        </p>
      ) : change.added === 0 && change.deleted === 0 ? (
        (change.status === 'ADDED' || change.status === 'DELETED') && <p className="hint">{tr('The file is empty.')}</p>
      ) : (
        <Text conversation={conversation} change={change} directory={directory} step={step} split={split} />
      )}
    </div>
  );
}

function Text({ conversation, change, directory, step, split }: Omit<Props, 'repository'>) {
  const path = absolute(directory, change.path);
  const from = change.from === undefined ? null : absolute(directory, change.from);
  const diff = useQuery(from === null ? diffQuery(conversation, path, step) : movedDiffQuery(conversation, from, path, step));
  if (diff.isError) return <p className="banner bad">{describe(diff.error)}</p>;
  if (!diff.data) return null;
  return <DiffView before={diff.data.original ?? ''} after={diff.data.modified ?? ''} path={path} split={split} />;
}

// Counts are the added and deleted lines of a file, or why there are none.
export function Counts({ change }: { change: Change }) {
  if (change.binary) return <span className="change-counts">{tr('binary')}</span>;
  if (change.added === null || change.deleted === null || change.added + change.deleted === 0) return null;
  return <Lines added={change.added} deleted={change.deleted} />;
}

// Mode says how the mode of a file has changed.
export function Mode({ change }: { change: Change }) {
  const mode = modeText(change);
  return mode && <span className="change-counts">{mode.short}</span>;
}

// Lines are numbers of added and deleted lines.
export function Lines({ added, deleted }: { added: number; deleted: number }) {
  return (
    <span className="change-counts number">
      {added > 0 && <span className="added">+{number(added)}</span>} {deleted > 0 && <span className="deleted">−{number(deleted)}</span>}
    </span>
  );
}

// modeText says how Git's mode of a file has changed, in a word or two and as a sentence; null: it
// has not.
function modeText({ mode_before: before, mode_after: after }: Change): { short: string; sentence: string } | null {
  if (!before || !after) return null;
  if (after === '120000') return { short: tr('now a link'), sentence: tr('It became a symbolic link.') };
  if (before === '120000') return { short: tr('no link now'), sentence: tr('It was a symbolic link.') };
  if (after === '100755') return { short: tr('executable'), sentence: tr('It became executable.') };
  if (before === '100755') return { short: tr('not executable'), sentence: tr('It is no longer executable.') };
  return { short: `${before} → ${after}`, sentence: tr('Its mode changed from {before} to {after}.', { before, after }) };
}

function absolute(directory: string, path: string): string {
  return path.startsWith('/') ? path : `${directory}/${path}`;
}
