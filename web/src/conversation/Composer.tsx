import { useLayoutEffect, useRef, useState, type ClipboardEvent, type DragEvent, type Ref } from 'react';
import { describe } from '../api/failure';
import { bytes } from '../design/format';
import { Icon } from '../design/Icon';
import { tr } from '../i18n/text';
import './composer.css';

interface Props {
  ref?: Ref<HTMLTextAreaElement>;
  label: string;
  placeholder: string;
  text: string;
  onText: (text: string) => void;
  busy: boolean;
  reachable?: boolean; // a message can reach the server
  sendLabel: string;
  onSend: (images: string[], files: File[]) => Promise<boolean>; // true: sent, the box is emptied
  onQueue?: () => void; // holds the text back for later
  onFile: (file: File) => string | Promise<string>; // why a file that is no image cannot be sent; empty: it can
}

// largestImage is how large an attached image may be, in bytes.
const largestImage = 5 << 20;

// sizesItself: the box grows with its text by its style. To measure it has the browser lay
// out the page with each key.
const sizesItself = CSS.supports('field-sizing', 'content');

// Composer is the box for a task or message, with images and files by paste and drop.
export function Composer({ ref, label, placeholder, text, onText, busy, reachable = true, sendLabel, onSend, onQueue, onFile }: Props) {
  const [images, setImages] = useState<string[]>([]);
  const [files, setFiles] = useState<File[]>([]);
  const [sending, setSending] = useState(false);
  const [over, setOver] = useState(false); // a file is dragged over the box
  const [problem, setProblem] = useState('');
  const own = useRef<HTMLTextAreaElement>(null);
  const picker = useRef<HTMLInputElement>(null);

  useLayoutEffect(() => {
    const box = own.current;
    if (!box || sizesItself) return;
    box.style.height = 'auto';
    box.style.height = `${Math.min(box.scrollHeight, window.innerHeight * 0.4)}px`;
  }, [text]);

  // After a lost connection the same can be sent again.
  const [reached, setReached] = useState(reachable);
  if (reached !== reachable) {
    setReached(reachable);
    if (reachable) setProblem('');
  }

  const attach = async (given: Iterable<File>) => {
    setProblem('');
    const problems: string[] = [];
    for (const file of [...given]) { // dropped files are gone after the first wait
      try {
        if (!/^image\/(png|jpeg|gif|webp)$/.test(file.type)) {
          const reason = await onFile(file);
          if (reason) problems.push(reason);
          else setFiles((all) => [...all, file]);
        } else if (file.size > largestImage) problems.push(tr('{name} is larger than 5 MB.', { name: file.name }));
        else {
          const url = await dataURL(file);
          setImages((all) => [...all, url]);
        }
      } catch (error) {
        problems.push(describe(error));
      }
    }
    setProblem(problems.join(' '));
  };

  const empty = !text.trim() && images.length === 0 && files.length === 0;
  const send = async () => {
    if (busy || sending || empty) return;
    setProblem('');
    setSending(true);
    try {
      if (await onSend(images, files)) {
        onText('');
        setImages([]);
        setFiles([]);
      }
    } catch (error) {
      setProblem(describe(error));
    } finally {
      setSending(false);
    }
  };

  return (
    <form
      className="composer"
      data-over={over || undefined}
      onSubmit={(e) => {
        e.preventDefault();
        void send();
      }}
      onDragOver={(e) => {
        e.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(e: DragEvent) => {
        e.preventDefault();
        setOver(false);
        void attach(e.dataTransfer.files);
      }}
    >
      {images.length > 0 && (
        <ul className="composer-images">
          {images.map((image, i) => (
            <li key={i}>
              <img src={image} alt={tr('Attached image {n}', { n: i + 1 })} />
              <button type="button" className="icon-button" aria-label={tr('Remove image {n}', { n: i + 1 })} onClick={() => setImages(images.filter((_, n) => n !== i))}>
                <Icon name="close" size={12} />
              </button>
            </li>
          ))}
        </ul>
      )}
      {files.length > 0 && (
        <ul className="composer-files">
          {files.map((file, i) => (
            <li key={i}>
              <Icon name="file" size={12} /> <span className="ellipsis">{file.name}</span> <span className="hint">{bytes(file.size)}</span>
              <button type="button" className="icon-button" aria-label={tr('Remove {name}', { name: file.name })} onClick={() => setFiles(files.filter((_, n) => n !== i))}>
                <Icon name="close" size={12} />
              </button>
            </li>
          ))}
        </ul>
      )}
      <textarea
        ref={(box) => {
          own.current = box;
          if (typeof ref === 'function') ref(box);
          else if (ref) ref.current = box;
        }}
        aria-label={label}
        placeholder={placeholder}
        rows={2}
        value={text}
        onChange={(e) => onText(e.target.value)}
        onPaste={(e: ClipboardEvent) => {
          if (e.clipboardData.files.length === 0) return;
          e.preventDefault();
          void attach(e.clipboardData.files);
        }}
        onKeyDown={(e) => {
          if (e.key === 'Escape') e.currentTarget.blur(); // for keys that act while nothing is written
          if (e.key !== 'Enter' || e.shiftKey || e.nativeEvent.isComposing) return;
          e.preventDefault();
          void send();
        }}
      />
      <div className="composer-bar">
        <button type="button" className="icon-button" aria-label={tr('Attach files')} title={tr('Attach images or files; they can also be dropped or pasted')} onClick={() => picker.current?.click()}>
          <Icon name="clip" />
        </button>
        <input
          ref={picker}
          type="file"
          multiple
          hidden
          onChange={(e) => {
            void attach(e.target.files ?? []);
            e.target.value = '';
          }}
        />
        <span className="composer-problem grow" role="alert">
          {problem}
        </span>
        {onQueue && (
          <button type="button" className="button" title={tr('Send it when the agent has ended')} disabled={busy || !text.trim() || images.length + files.length > 0} onClick={onQueue}>
            {tr('Queue')}
          </button>
        )}
        <button className="button primary" disabled={busy || sending || empty}>
          <Icon name="send" size={14} /> {sendLabel}
        </button>
      </div>
    </form>
  );
}

function dataURL(file: File): Promise<string> {
  return new Promise((done, fail) => {
    const reader = new FileReader();
    reader.onload = () => done(reader.result as string);
    reader.onerror = () => fail(new Error(tr('{name} cannot be read.', { name: file.name })));
    reader.readAsDataURL(file);
  });
}
