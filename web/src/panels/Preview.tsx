import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import type { Conversation } from '../api/conversation';
import { describe } from '../api/failure';
import { fileQuery } from '../api/files';
import { bytes } from '../design/format';
import { Icon } from '../design/Icon';
import { loaded } from '../design/loaded';
import { save } from '../design/save';
import { Copy } from '../design/Copyable';
import { Code } from '../syntax/Code';
import { languageOf } from '../syntax/language';
import { tr } from '../i18n/text';

const Reading = () => <p className="hint">{tr('Reading …')}</p>;
const PdfView = loaded(() => import('./PdfView'), Reading);
const NotebookView = loaded(() => import('./NotebookView'), Reading);

// How much of a file is shown, in bytes.
const largestText = 1 << 20;
const largestNotebook = 16 << 20;
const largestDrawing = 4 << 20;

const images = /\.(?:png|jpe?g|gif|webp|bmp|ico|avif)$/i;

type View =
  | { kind: 'text'; text: string; note: string }
  | { kind: 'image'; source: string }
  | { kind: 'pdf'; file: Blob }
  | { kind: 'notebook'; text: string }
  | { kind: 'none'; note: string };

// Preview shows a file of the workspace. Whatever it says that it is, it never becomes a
// page: it is shown as text, as an image, or as our own code draws it.
export function Preview({ conversation, path, name }: { conversation: Conversation; path: string; name: string }) {
  const content = useQuery(fileQuery(conversation, path));
  const [view, setView] = useState<View | null>(null);
  const [source, setSource] = useState(false); // show the text of a drawing or a notebook
  const blob = content.data;
  useEffect(() => {
    if (!blob) return;
    let current = true;
    let address = '';
    viewOf(blob, source ? '' : name).then(
      (found) => {
        if (found.kind === 'image' && found.source.startsWith('blob:')) address = found.source;
        if (current) setView(found);
        else URL.revokeObjectURL(address);
      },
      (error: unknown) => current && setView({ kind: 'none', note: describe(error) }),
    );
    return () => {
      current = false;
      URL.revokeObjectURL(address);
    };
  }, [blob, name, source]);

  if (content.isError) {
    return (
      <p className="banner bad" role="alert">
        {describe(content.error)}
      </p>
    );
  }
  return (
    <div className="preview">
      <div className="row">
        <span className="hint grow">{view && 'note' in view && view.note ? view.note : blob && bytes(blob.size)}</span>
        {/\.(?:svg|ipynb)$/i.test(name) && (
          <button className="button quiet" aria-pressed={source} onClick={() => setSource(!source)}>
            <Icon name="code" size={14} /> {tr('Source')}
          </button>
        )}
        {blob && view?.kind === 'text' && <Copy className="button quiet" label={tr('Copy the file')} text={() => blob.text()} />}
        <button className="button quiet" disabled={!blob} onClick={() => blob && save(blob, name)}>
          <Icon name="down" size={14} /> {tr('Download')}
        </button>
      </div>
      {view?.kind === 'image' && <Picture source={view.source} name={name} />}
      {view?.kind === 'text' && (
        <Code text={view.text} language={languageOf(name)} role="region" aria-label={name} />
      )}
      {view?.kind === 'pdf' && <PdfView file={view.file} name={name} />}
      {view?.kind === 'notebook' && <NotebookView text={view.text} name={name} />}
    </div>
  );
}

function Picture({ source, name }: { source: string; name: string }) {
  const [broken, setBroken] = useState(false);
  if (broken) return <p className="hint">{tr('This is not an image that can be shown.')}</p>;
  return <img className="picture" src={source} alt={name} onError={() => setBroken(true)} />;
}

// viewOf decides how a file is shown, by its name and its first bytes.
async function viewOf(blob: Blob, name: string): Promise<View> {
  // The type is ours: a file must not say that it is a page.
  if (images.test(name)) return { kind: 'image', source: URL.createObjectURL(new Blob([blob], { type: 'image/png' })) };
  if (/\.svg$/i.test(name) && blob.size <= largestDrawing) {
    // In an image no script runs and nothing is loaded; a data: URL has no origin of ours
    // if somebody opens it by itself.
    return { kind: 'image', source: `data:image/svg+xml;charset=utf-8,${encodeURIComponent(await blob.text())}` };
  }
  const start = await blob.slice(0, 1024).text();
  if (/\.pdf$/i.test(name) && start.includes('%PDF-')) return { kind: 'pdf', file: blob };
  if (/\.ipynb$/i.test(name) && blob.size <= largestNotebook) return { kind: 'notebook', text: await blob.text() };
  const text = await blob.slice(0, largestText).text();
  if (text.includes('\0')) return { kind: 'none', note: tr('This is not a text file. It has {size}.', { size: bytes(blob.size) }) };
  return { kind: 'text', text, note: blob.size > largestText ? tr('The first {shown} of {size}.', { shown: bytes(largestText), size: bytes(blob.size) }) : '' };
}
