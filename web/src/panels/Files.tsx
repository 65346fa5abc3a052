import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useCallback, useEffect, useRef, useState, type DragEvent } from 'react';
import { useSearchParams } from 'wouter';
import type { Conversation } from '../api/conversation';
import { describe } from '../api/failure';
import { archived, list, readAgain, store } from '../api/files';
import { Dialog } from '../design/Dialog';
import { Icon } from '../design/Icon';
import { save } from '../design/save';
import type { Timeline } from '../events/timeline';
import { FileTree } from './FileTree';
import { Preview } from './Preview';
import { useThrottled } from './useThrottled';
import { plural, tr } from '../i18n/text';

// Files is the workspace as a tree. Files are looked at, uploaded and downloaded.
export function Files({ conversation, timeline }: { conversation: Conversation; timeline: Timeline }) {
  const root = timeline.directory;
  // The address has the shown file or directory below root: ?file=…, or ?directory=…
  const [address, setAddress] = useSearchParams();
  const file = address.get('file');
  const path = file ? parent(file) : (address.get('directory') ?? '');
  const [opened, setOpened] = useState<ReadonlySet<string>>(() => new Set(above(path)));
  const [over, setOver] = useState(false); // something is dragged over the panel
  const [replacing, setReplacing] = useState<{ files: File[]; names: string[] } | null>(null);
  const [note, setNote] = useState('');
  const picker = useRef<HTMLInputElement>(null);
  const queries = useQueryClient();
  const show = (directory: string, name: string | null) => {
    setAddress(name ? { file: name } : directory ? { directory } : {}, { replace: name === null });
    setNote('');
  };
  const at = (below: string) => (below ? `${root}/${below}` : root);
  const again = useCallback(() => readAgain(queries, conversation), [queries, conversation]);
  // Whatever the agent does may change files, also the one that is open.
  const step = useThrottled(timeline.cursor, 1000);
  const read = useRef(step);
  useEffect(() => {
    if (read.current === step) return;
    read.current = step;
    void again();
  }, [step, again]);
  const upload = useMutation({
    mutationFn: async (chosen: File[]) => {
      for (const f of chosen) await store(conversation, `${at(path)}/${f.name}`, f);
      return chosen.length;
    },
    onSuccess: (n) => setNote(plural(n, '1 file was uploaded.', '{n} files were uploaded.')),
    onSettled: () => {
      setOpened((all) => new Set(all).add(path));
      void again();
    },
  });
  // begin asks before files are replaced.
  const begin = useMutation({
    mutationFn: async (chosen: File[]) => {
      setNote('');
      const there = new Set((await list(conversation, at(path))).map((f) => f.name));
      const names = chosen.map((f) => f.name).filter((name) => there.has(name));
      if (names.length) setReplacing({ files: chosen, names });
      else if (chosen.length) upload.mutate(chosen);
    },
  });
  const drop = (e: DragEvent) => {
    e.preventDefault();
    setOver(false);
    // A directory comes as an entry that cannot be read as a file.
    const items = [...e.dataTransfer.items].filter((item) => item.kind === 'file');
    const files = items.filter((item) => !item.webkitGetAsEntry()?.isDirectory).map((item) => item.getAsFile());
    begin.mutate(
      files.filter((f) => f !== null),
      { onSettled: () => files.length < items.length && setNote(tr('Directories are not uploaded: drop the files in them, or an archive.')) },
    );
  };
  const download = useMutation({
    mutationFn: async () => save(await archived(conversation, at(path)), `${path.split('/').pop() || 'workspace'}.tar.gz`),
  });
  const parts = (file ?? path).split('/').filter(Boolean);
  const failure = upload.error ?? begin.error ?? download.error;

  return (
    <div
      className="panel-body files"
      data-over={over || undefined}
      onDragOver={(e) => {
        if (!e.dataTransfer.types.includes('Files')) return;
        e.preventDefault();
        setOver(true);
      }}
      onDragLeave={(e) => {
        if (!e.currentTarget.contains(e.relatedTarget as Node | null)) setOver(false);
      }}
      onDrop={drop}
    >
      <div className="panel-tools">
        <nav className="crumbs grow" aria-label={tr('Path')}>
          <button className="link" onClick={() => show('', null)}>
            {tr('workspace')}
          </button>
          {parts.map((part, i) => (
            <span key={i}>
              {' / '}
              {file && i === parts.length - 1 ? (
                part
              ) : (
                <button className="link" onClick={() => show(parts.slice(0, i + 1).join('/'), null)}>
                  {part}
                </button>
              )}
            </span>
          ))}
        </nav>
        <button className="button quiet" disabled={upload.isPending || root === ''} onClick={() => picker.current?.click()}>
          <Icon name="upload" size={14} /> {upload.isPending ? tr('Uploading …') : tr('Upload')}
        </button>
        <input
          ref={picker}
          type="file"
          multiple
          hidden
          onChange={(e) => {
            begin.mutate([...(e.target.files ?? [])]);
            e.target.value = '';
          }}
        />
        <button className="icon-button" aria-label={tr('Download this directory')} title={tr('Download this directory')} disabled={download.isPending} onClick={() => download.mutate()}>
          <Icon name="down" size={14} />
        </button>
        <button className="icon-button" aria-label={tr('Refresh')} title={tr('Refresh')} onClick={() => void again()}>
          <Icon name="refresh" size={14} />
        </button>
      </div>
      {failure && (
        <p className="banner bad message" role="alert">
          {describe(failure)}
        </p>
      )}
      {note && !failure && (
        <p className="banner message" role="status">
          {note}
        </p>
      )}
      {over && (
        <p className="drop-hint" role="status">
          {path ? tr('Drop files to upload them to {path}', { path }) : tr('Drop files to upload them to the workspace')}
        </p>
      )}
      {replacing && (
        <Dialog title={plural(replacing.names.length, 'Replace the file?', 'Replace the files?')} onClose={() => setReplacing(null)}>
          <div className="dialog-form">
            <p>
              {replacing.names.slice(0, 5).map((name) => (
                <span key={name}>
                  <code>{name}</code>{' '}
                </span>
              ))}
              {replacing.names.length > 5
                ? tr('and {n} more are there already.', { n: replacing.names.length - 5 })
                : plural(replacing.names.length, 'is there already.', 'are there already.')}
            </p>
            <div className="dialog-buttons">
              <button className="button" autoFocus onClick={() => setReplacing(null)}>
                {tr('Cancel')}
              </button>
              <button
                className="button danger"
                onClick={() => {
                  upload.mutate(replacing.files);
                  setReplacing(null);
                }}
              >
                {tr('Replace')}
              </button>
            </div>
          </div>
        </Dialog>
      )}
      {file && root !== '' ? (
        <Preview key={file} conversation={conversation} path={at(file)} name={file.split('/').pop() ?? file} />
      ) : (
        root !== '' && (
          <FileTree
            conversation={conversation}
            root={root}
            opened={opened}
            chosen={path}
            onDirectory={(directory) => {
              show(directory, null);
              setOpened((all) => {
                const next = new Set(all);
                if (!next.delete(directory)) next.add(directory);
                return next;
              });
            }}
            onFile={(name) => show(parent(name), name)}
          />
        )
      )}
    </div>
  );
}

const parent = (path: string): string => path.split('/').slice(0, -1).join('/');

// above returns a directory and its parents, below the root.
function above(path: string): string[] {
  const parts = path.split('/').filter(Boolean);
  return parts.map((_, i) => parts.slice(0, i + 1).join('/'));
}
