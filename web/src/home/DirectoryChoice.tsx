import { useState } from 'react';
import type { Directories } from '../api/directories';
import { tr } from '../i18n/text';

// A Where is the directory of a task, empty for none, and whether it works in a Git worktree of it.
export interface Where {
  directory: string;
  worktree: boolean;
}

// usualPlace is the place of a task for which none is chosen: the project in which the server was started.
export const usualPlace = (offered?: Directories): Where => ({ directory: offered?.proposed?.path ?? '', worktree: false });

interface Props {
  offered: Directories;
  where: Where;
  onWhere: (where: Where) => void;
}

const other = '…';

// DirectoryChoice lets a task work in a directory of the server's machine: a known one, or one that
// is written.
export function DirectoryChoice({ offered, where, onWhere }: Props) {
  const known = [...(offered.proposed ? [offered.proposed] : []), ...offered.recent];
  const [writing, setWriting] = useState(known.length === 0);
  const path = where.directory.trim();
  const set = (directory: string) => onWhere({ ...where, directory });
  return (
    <>
      <label className="home-where home-directory">
        <span>{tr('Directory')}</span>
        {writing ? (
          <input
            className="input mono"
            autoFocus={known.length > 0}
            value={where.directory}
            onChange={(e) => set(e.target.value)}
            onKeyDown={(e) => {
              if (e.key !== 'Escape' || known.length === 0) return;
              set('');
              setWriting(false);
            }}
            placeholder={tr('none: a new sandbox')}
            spellCheck={false}
            autoComplete="off"
          />
        ) : (
          <select
            className="model-select mono"
            value={path}
            onChange={(e) => {
              setWriting(e.target.value === other);
              set(e.target.value === other ? '' : e.target.value);
            }}
          >
            <option value="">{tr('none: a new sandbox')}</option>
            {known.map((d) => (
              <option key={d.path} value={d.path}>
                {d.path}
              </option>
            ))}
            <option value={other}>{tr('another …')}</option>
          </select>
        )}
      </label>
      {path && known.find((d) => d.path === path)?.git !== false && (
        <label className="row">
          <input type="checkbox" checked={where.worktree} onChange={(e) => onWhere({ ...where, worktree: e.target.checked })} /> {tr('In a Git worktree')}
        </label>
      )}
    </>
  );
}
