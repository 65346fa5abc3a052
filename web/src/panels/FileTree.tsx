import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { Conversation } from '../api/conversation';
import { describe } from '../api/failure';
import { directoryQuery, type FileEntry } from '../api/files';
import { bytes } from '../design/format';
import { Icon } from '../design/Icon';
import { number, tr } from '../i18n/text';

interface Props {
  conversation: Conversation;
  root: string;
  opened: ReadonlySet<string>; // directories, below root
  chosen: string;
  onDirectory: (path: string) => void;
  onFile: (path: string) => void;
}

// mostEntries is how many lines of a list of files are shown at first.
export const mostEntries = 500;

// FileTree lists directories within directories; each is read when it is opened.
export function FileTree(props: Props) {
  return <Entries {...props} path="" label={tr('Files')} />;
}

function Entries({ path, label, ...props }: Props & { path: string; label: string }) {
  const { conversation, root, opened, chosen, onDirectory, onFile } = props;
  const [all, setAll] = useState(false);
  const directory = path ? `${root}/${path}` : root;
  const list = useQuery(directoryQuery(conversation, directory));
  if (list.isError) return <p className="banner bad">{describe(list.error)}</p>;
  if (!list.data) return null;
  if (list.data.length === 0) return <p className="hint file-empty">{tr('This directory is empty.')}</p>;
  const shown = all ? list.data : list.data.slice(0, mostEntries);
  const below = (f: FileEntry) => (path ? `${path}/${f.name}` : f.name);
  return (
    <ul className="file-list" aria-label={label}>
      {shown.map((f) => {
        const at = below(f);
        const open = f.directory && opened.has(at);
        return (
          <li key={f.name}>
            {f.directory ? (
              <DirectoryButton name={f.name} open={open} chosen={chosen === at} onClick={() => onDirectory(at)} />
            ) : (
              <button onClick={() => onFile(at)}>
                <span className="action-chevron" />
                <Icon name="file" size={14} />
                <span className="grow ellipsis">{f.name}</span>
                <span className="hint number">{bytes(f.size)}</span>
              </button>
            )}
            {open && <Entries {...props} path={at} label={f.name} />}
          </li>
        );
      })}
      {shown.length < list.data.length && (
        <li>
          <button onClick={() => setAll(true)}>{tr('Show all {n}', { n: number(list.data.length) })}</button>
        </li>
      )}
    </ul>
  );
}

interface DirectoryProps {
  name: string;
  path?: string; // for whom the lines around it do not say where it is
  open: boolean;
  chosen?: boolean;
  onClick: () => void;
}

// DirectoryButton is the line of a directory, which opens and closes it.
export function DirectoryButton({ name, path, open, chosen, onClick }: DirectoryProps) {
  return (
    <button className={chosen ? 'directory chosen' : 'directory'} aria-label={path} aria-expanded={open} onClick={onClick}>
      <span className="action-chevron">
        <Icon name="chevron" size={12} />
      </span>
      <Icon name="folder" size={14} />
      <span className="grow ellipsis" title={path}>
        {name}
      </span>
    </button>
  );
}
