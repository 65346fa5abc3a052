import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import type { Conversation } from '../api/conversation';
import { describe } from '../api/failure';
import { bytes } from '../design/format';
import { Icon } from '../design/Icon';
import { save } from '../design/save';
import type { Timeline } from '../events/timeline';

// largestPreview is how much of a file is shown, in bytes.
const largestPreview = 1 << 20;

const images = /\.(?:png|jpe?g|gif|webp|bmp|ico)$/i;

export function Files({ conversation, timeline }: { conversation: Conversation; timeline: Timeline }) {
  const root = timeline.directory;
  const [path, setPath] = useState(''); // below root
  const [file, setFile] = useState<string | null>(null);
  const picker = useRef<HTMLInputElement>(null);
  const queries = useQueryClient();
  const directory = path ? `${root}/${path}` : root;
  const list = useQuery({
    queryKey: ['files', conversation.id, directory],
    queryFn: () => conversation.files(directory),
    enabled: root !== '',
  });
  const upload = useMutation({
    mutationFn: async (chosen: File[]) => {
      for (const f of chosen) await conversation.upload(`${directory}/${f.name}`, f);
    },
    onSettled: () => void queries.invalidateQueries({ queryKey: ['files', conversation.id] }),
  });
  const download = useMutation({
    mutationFn: async () => save(await conversation.archive(directory), `${path.split('/').pop() || 'workspace'}.tar.gz`),
  });
  const parts = path === '' ? [] : path.split('/');

  return (
    <div className="panel-body">
      <div className="panel-tools">
        <nav className="crumbs grow" aria-label="Path">
          <button className="link" onClick={() => (setPath(''), setFile(null))}>
            workspace
          </button>
          {parts.map((part, i) => (
            <span key={i}>
              {' / '}
              <button className="link" onClick={() => (setPath(parts.slice(0, i + 1).join('/')), setFile(null))}>
                {part}
              </button>
            </span>
          ))}
          {file && <span> / {file}</span>}
        </nav>
        <button className="button quiet" disabled={upload.isPending} onClick={() => picker.current?.click()}>
          Upload
        </button>
        <input
          ref={picker}
          type="file"
          multiple
          hidden
          onChange={(e) => {
            upload.mutate([...(e.target.files ?? [])]);
            e.target.value = '';
          }}
        />
        <button className="icon-button" aria-label="Download this directory" disabled={download.isPending} onClick={() => download.mutate()}>
          <Icon name="down" size={14} />
        </button>
        <button className="icon-button" aria-label="Refresh" onClick={() => void queries.invalidateQueries({ queryKey: ['files', conversation.id] })}>
          <Icon name="refresh" size={14} />
        </button>
      </div>
      {(list.isError || upload.isError || download.isError) && (
        <p className="banner bad" role="alert">
          {describe(upload.error ?? download.error ?? list.error)}
        </p>
      )}
      {file ? (
        <Preview conversation={conversation} path={`${directory}/${file}`} name={file} />
      ) : (
        <ul className="file-list">
          {list.data?.map((f) => (
            <li key={f.name}>
              <button onClick={() => (f.directory ? setPath(path ? `${path}/${f.name}` : f.name) : setFile(f.name))}>
                <Icon name={f.directory ? 'folder' : 'file'} size={14} />
                <span className="grow ellipsis">{f.name}</span>
                {!f.directory && <span className="hint number">{bytes(f.size)}</span>}
              </button>
            </li>
          ))}
          {list.data?.length === 0 && <li className="center">This directory is empty.</li>}
        </ul>
      )}
    </div>
  );
}

function Preview({ conversation, path, name }: { conversation: Conversation; path: string; name: string }) {
  const content = useQuery({ queryKey: ['file', conversation.id, path], queryFn: () => conversation.file(path), gcTime: 0 });
  const [view, setView] = useState<{ text?: string; image?: string; note?: string }>({});
  useEffect(() => {
    const blob = content.data;
    if (!blob) return;
    if (images.test(name)) {
      // The type is ours: a file must not say that it is a page.
      const url = URL.createObjectURL(new Blob([blob], { type: 'image/png' }));
      setView({ image: url });
      return () => URL.revokeObjectURL(url);
    }
    let current = true;
    void blob
      .slice(0, largestPreview)
      .text()
      .then((text) => {
        if (!current) return;
        if (text.includes('\0')) setView({ note: 'This is not a text file.' });
        else setView({ text, note: blob.size > largestPreview ? `The first ${bytes(largestPreview)} of ${bytes(blob.size)}.` : '' });
      });
    return () => {
      current = false;
    };
  }, [content.data, name]);

  if (content.isError) return <p className="banner bad">{describe(content.error)}</p>;
  return (
    <div className="preview">
      <div className="row">
        <span className="hint grow">{view.note}</span>
        <button className="button quiet" disabled={!content.data} onClick={() => content.data && save(content.data, name)}>
          <Icon name="down" size={14} /> Download
        </button>
      </div>
      {view.image && <img className="picture" src={view.image} alt={name} />}
      {view.text !== undefined && (
        <pre className="code" tabIndex={0} role="region" aria-label={name}>
          {view.text}
        </pre>
      )}
    </div>
  );
}
