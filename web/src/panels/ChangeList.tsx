import { useMemo, useState, type CSSProperties } from 'react';
import { useSearchParams } from 'wouter';
import type { Conversation } from '../api/conversation';
import { Icon } from '../design/Icon';
import { lines, type Line, type Row } from './changes';
import { Counts, FileChange, Mode } from './FileChange';
import { DirectoryButton, mostEntries } from './FileTree';
import { number, tr } from '../i18n/text';

const marks: Record<string, string> = { ADDED: 'A', UPDATED: 'M', DELETED: 'D', MOVED: 'R' };
const words: Record<string, string> = { ADDED: tr('added'), UPDATED: tr('changed'), DELETED: tr('deleted'), MOVED: tr('moved') };

interface Props {
  rows: Row[];
  repository: boolean; // whether files can be committed here
  conversation: Conversation;
  directory: string;
  step: number;
  split: boolean; // whether differences are shown side by side
  busy: boolean;
  onStage: (row: Row) => void;
  onDiscard: (row: Row) => void;
}

// ChangeList is the tree of the changed files, all of it open at first. It is one list
// whose items say their level, so that no path is too deep for it.
export function ChangeList({ rows, repository, conversation, directory, step, split, busy, onStage, onDiscard }: Props) {
  const [address, setAddress] = useSearchParams();
  const opened = address.get('file'); // whose changes are shown
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const [whole, setWhole] = useState(false);
  const all = useMemo(() => lines(rows, closed), [rows, closed]);
  // Beyond the first lines there is yet the file that the address names, with its directories.
  const named = (line: Line) => opened !== null && (line.directory === null ? line.row.path === opened : opened.startsWith(`${line.directory}/`));
  const shown = whole ? all : all.filter((line, i) => i < mostEntries || named(line));
  const toggle = (path: string) => {
    const next = new Set(closed);
    if (!next.delete(path)) next.add(path);
    setClosed(next);
  };
  return (
    <ul className="change-list">
      {shown.map((line) => {
        const place = { '--depth': line.depth } as CSSProperties;
        if (line.directory !== null) {
          return (
            <li key={`${line.directory}/`} aria-level={line.depth + 1}>
              <div className="change-row" style={place}>
                <DirectoryButton name={line.name} path={line.directory} open={line.open} onClick={() => toggle(line.directory)} />
              </div>
            </li>
          );
        }
        const r = line.row;
        const open = opened === r.path;
        const word = r.conflicted ? tr('in conflict') : words[r.change.status];
        return (
          <li key={r.path} aria-level={line.depth + 1}>
            <div className="change-row" style={place}>
              {r.staged === null ? (
                <span className="change-check" title={repository ? tr('Committed') : undefined}>
                  {repository && <Icon name="check" size={12} />}
                </span>
              ) : (
                <Stage row={r} onChange={() => onStage(r)} />
              )}
              <button className="change" aria-expanded={open} onClick={() => setAddress(open ? {} : { file: r.path }, { replace: true })}>
                <span className={`change-mark ${r.conflicted ? 'DELETED' : r.change.status}`} title={word}>
                  <span aria-hidden="true">{r.conflicted ? '!' : marks[r.change.status]}</span>
                  <span className="visually-hidden">{word}</span>
                </span>
                <code className="ellipsis" title={r.change.from === undefined ? r.path : `${r.change.from} → ${r.path}`} aria-hidden="true">
                  {line.name}
                  {r.change.from !== undefined && <span className="change-from"> ← {nameFrom(r.change.from, r.path)}</span>}
                </code>
                <span className="visually-hidden">{r.change.from === undefined ? r.path : tr('{path}, moved from {from}', { path: r.path, from: r.change.from })}</span>
                <Mode change={r.change} />
                <Counts change={r.change} />
                <span className="action-chevron">
                  <Icon name="chevron" size={12} />
                </span>
              </button>
              {r.staged !== null && (
                <button className="icon-button" aria-label={tr('Discard {path}', { path: r.path })} title={tr('Discard the changes')} disabled={busy} onClick={() => onDiscard(r)}>
                  <Icon name="undo" size={14} />
                </button>
              )}
            </div>
            {open && <FileChange repository={r.repository} conversation={conversation} change={r.change} directory={directory} step={step} split={split} />}
          </li>
        );
      })}
      {shown.length < all.length && (
        <li>
          <button className="change" onClick={() => setWhole(true)}>
            {tr('Show all {n}', { n: number(rows.length) })}
          </button>
        </li>
      )}
    </ul>
  );
}

// nameFrom is the old path of a file that was moved, without a directory where that stayed the same.
function nameFrom(from: string, path: string): string {
  const directory = path.slice(0, path.lastIndexOf('/') + 1);
  if (from.startsWith(directory) && !from.includes('/', directory.length)) return from.slice(directory.length);
  return from.includes('/') ? from : `./${from}`;
}

function Stage({ row, onChange }: { row: Row; onChange: () => void }) {
  return (
    <span className="change-check">
      <input
        type="checkbox"
        aria-label={tr('Stage {path}', { path: row.path })}
        title={row.staged === 'all' ? tr('Staged') : row.staged === 'part' ? tr('Partly staged') : tr('Not staged')}
        checked={row.staged === 'all'}
        ref={(box) => {
          if (box) box.indeterminate = row.staged === 'part';
        }}
        onChange={onChange}
      />
    </span>
  );
}
