import { useQuery } from '@tanstack/react-query';
import { getDocument, GlobalWorkerOptions, type PDFDocumentProxy } from 'pdfjs-dist';
import PdfWorker from 'pdfjs-dist/build/pdf.worker.min.mjs?worker';
import { useEffect, useRef, useState } from 'react';
import { Icon } from '../design/Icon';
import { tr } from '../i18n/text';

// largestSide bounds the drawing of a page, in pixels: its size comes from the file.
const largestSide = 3000;

// PdfView draws one page of a PDF at a time. The file is read in a worker, which gets no
// address to load anything from; scripts, forms and attachments in it are not used.
export default function PdfView({ file, name }: { file: Blob; name: string }) {
  const [document, setDocument] = useState<PDFDocumentProxy | null>(null);
  const [failure, setFailure] = useState('');
  const [number, setNumber] = useState(1);
  useEffect(() => {
    let current = true;
    const worker = new PdfWorker();
    GlobalWorkerOptions.workerPort = worker;
    const opening = file.arrayBuffer().then((data) => {
      return getDocument({ data, useSystemFonts: true, useWasm: false, enableXfa: false }).promise;
    });
    opening.then(
      (opened) => current && setDocument(opened),
      (error: unknown) => current && setFailure(error instanceof Error && error.name === 'PasswordException' ? tr('The file has a password. Download it to read it.') : tr('This PDF cannot be shown.')),
    );
    return () => {
      current = false;
      void opening.then((opened) => opened.loadingTask.destroy()).catch(() => null);
      worker.terminate();
    };
  }, [file]);

  if (failure) {
    return (
      <p className="banner bad" role="alert">
        {failure}
      </p>
    );
  }
  if (!document) return <p className="hint">{tr('Reading …')}</p>;
  const go = (n: number) => setNumber(Math.min(document.numPages, Math.max(1, n)));
  return (
    <div
      className="pdf"
      onKeyDown={(e) => {
        if (e.key === 'PageDown' || e.key === 'ArrowRight') go(number + 1);
        else if (e.key === 'PageUp' || e.key === 'ArrowLeft') go(number - 1);
        else return;
        e.preventDefault();
      }}
    >
      <div className="row pdf-pages">
        <button className="icon-button turned" aria-label={tr('Previous page')} disabled={number === 1} onClick={() => go(number - 1)}>
          <Icon name="chevron" size={14} />
        </button>
        <span className="hint number" role="status">
          {tr('Page {n} of {all}', { n: number, all: document.numPages })}
        </span>
        <button className="icon-button" aria-label={tr('Next page')} disabled={number === document.numPages} onClick={() => go(number + 1)}>
          <Icon name="chevron" size={14} />
        </button>
      </div>
      <PdfPage document={document} number={number} name={name} />
    </div>
  );
}

function PdfPage({ document, number, name }: { document: PDFDocumentProxy; number: number; name: string }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const page = useQuery({
    queryKey: ['pdf-page', document.fingerprints[0], number],
    queryFn: async () => {
      const found = await document.getPage(number);
      const { items } = await found.getTextContent();
      return { found, text: items.map((item) => ('str' in item ? item.str + (item.hasEOL ? '\n' : '') : '')).join('') };
    },
    gcTime: 0,
    retry: false,
  });
  const [failed, setFailed] = useState(false);
  const found = page.data?.found;
  useEffect(() => {
    const element = canvas.current;
    if (!found || !element) return;
    const plain = found.getViewport({ scale: 1 });
    const width = Math.max(1, element.parentElement?.clientWidth ?? 600);
    const scale = Math.min((width / plain.width) * window.devicePixelRatio, largestSide / Math.max(plain.width, plain.height));
    const viewport = found.getViewport({ scale });
    element.width = Math.max(1, Math.floor(viewport.width));
    element.height = Math.max(1, Math.floor(viewport.height));
    const drawing = found.render({ canvas: element, viewport });
    setFailed(false);
    drawing.promise.catch((error: unknown) => {
      if (!(error instanceof Error && error.name === 'RenderingCancelledException')) setFailed(true);
    });
    return () => drawing.cancel();
  }, [found]);
  return (
    <div className="pdf-page" tabIndex={0} role="region" aria-label={tr('{name}, page {n}', { name, n: number })}>
      {(page.isError || failed) && (
        <p className="banner bad" role="alert">
          {tr('This page cannot be shown.')}
        </p>
      )}
      <canvas ref={canvas} aria-hidden="true" />
      <p className="visually-hidden">{page.data?.text}</p>
    </div>
  );
}
