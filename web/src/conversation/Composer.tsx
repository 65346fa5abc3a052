import { useId, useLayoutEffect, useRef, useState, type ClipboardEvent, type DragEvent, type Ref } from 'react';
import { describe } from '../api/failure';
import type { PromptsQuery } from '../api/prompts';
import { bytes } from '../design/format';
import { Icon } from '../design/Icon';
import { sends } from '../design/touch';
import { tr } from '../i18n/text';
import { useAttachments } from './attachments';
import { optionID, PromptFound, PromptList, PromptUsage } from './PromptList';
import { usePromptChoice } from './usePromptChoice';
import './composer.css';

interface Props {
  ref?: Ref<HTMLTextAreaElement>;
  place: string; // of its draft
  label: string;
  placeholder: string;
  text: string;
  onText: (text: string) => void;
  busy: boolean;
  reachable?: boolean; // a message can reach the server
  sendLabel: string;
  onSend: (images: string[], files: File[]) => Promise<boolean>; // true: sent, the box is emptied
  onQueue?: (files: File[]) => Promise<void>; // has the server send it later; the box is emptied
  prompts?: PromptsQuery; // that a message can begin with
  onFile: (file: File) => string | Promise<string>; // why a file that is no image cannot be sent; empty: it can
}

// largestImage is how large an attached image may be, in bytes.
const largestImage = 5 << 20;

// sizesItself: the box grows with its text by its style. To measure it has the browser lay
// out the page with each key.
const sizesItself = CSS.supports('field-sizing', 'content');

// Composer is the box for a task or message, with images and files by paste and drop.
export function Composer({ ref, place, label, placeholder, text, onText, busy, reachable = true, sendLabel, onSend, onQueue, prompts, onFile }: Props) {
  const [{ images, files }, change] = useAttachments(place);
  const [sending, setSending] = useState(false);
  const [over, setOver] = useState(false); // a file is dragged over the box
  const [problem, setProblem] = useState('');
  const own = useRef<HTMLTextAreaElement>(null);
  const picker = useRef<HTMLInputElement>(null);
  const id = useId();
  const choice = usePromptChoice(prompts, text, onText, own);

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
          else change((all) => ({ ...all, files: [...all.files, file] }));
        } else if (file.size > largestImage) problems.push(tr('{name} is larger than 5 MB.', { name: file.name }));
        else {
          const url = await dataURL(file);
          change((all) => ({ ...all, images: [...all.images, url] }));
        }
      } catch (error) {
        problems.push(describe(error));
      }
    }
    setProblem(problems.join(' '));
  };

  const empty = !text.trim() && images.length === 0 && files.length === 0;
  const send = async (how: () => Promise<boolean>) => {
    if (busy || sending || empty) return;
    setProblem('');
    setSending(true);
    try {
      if (!(await how())) return;
      // The user may have gone on writing meanwhile.
      const now = own.current?.value ?? text;
      onText(now.startsWith(text) ? now.slice(text.length).trimStart() : now);
      change((all) => ({ images: all.images.filter((one) => !images.includes(one)), files: all.files.filter((one) => !files.includes(one)) }));
    } catch (error) {
      setProblem(describe(error));
    } finally {
      setSending(false);
    }
  };
  const sendNow = () => send(() => onSend(images, files));

  return (
    <form
      className="composer"
      data-over={over || undefined}
      onSubmit={(e) => {
        e.preventDefault();
        void sendNow();
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
              <button type="button" className="icon-button" aria-label={tr('Remove image {n}', { n: i + 1 })} onClick={() => change((all) => ({ ...all, images: all.images.filter((_, n) => n !== i) }))}>
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
              <button type="button" className="icon-button" aria-label={tr('Remove {name}', { name: file.name })} onClick={() => change((all) => ({ ...all, files: all.files.filter((_, n) => n !== i) }))}>
                <Icon name="close" size={12} />
              </button>
            </li>
          ))}
        </ul>
      )}
      {choice.open && <PromptList id={id} choice={choice} />}
      {prompts && <PromptFound choice={choice} />}
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
        aria-autocomplete={prompts && 'list'}
        aria-haspopup={prompts && 'listbox'}
        aria-controls={choice.active >= 0 ? id : undefined}
        aria-activedescendant={choice.active >= 0 ? optionID(id, choice.active) : undefined}
        aria-describedby={choice.named ? `${id}-usage` : undefined}
        onChange={(e) => {
          choice.onCaret(e.target);
          onText(e.target.value);
        }}
        onSelect={(e) => choice.onCaret(e.currentTarget)}
        onFocus={(e) => {
          choice.onFocus(true);
          choice.onCaret(e.currentTarget);
        }}
        onBlur={(e) => choice.onFocus(e.relatedTarget?.id === id)} // the list stays for its own focus
        onPaste={(e: ClipboardEvent) => {
          if (e.clipboardData.files.length === 0) return;
          e.preventDefault();
          void attach(e.clipboardData.files);
        }}
        onKeyDown={(e) => {
          if (choice.onKey(e)) return;
          if (e.key === 'Escape') e.currentTarget.blur(); // for keys that act while nothing is written
          if (!sends(e)) return;
          e.preventDefault();
          void sendNow();
        }}
      />
      {choice.named && <PromptUsage id={`${id}-usage`} offer={choice.named} />}
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
          <button
            type="button"
            className="button"
            title={tr('Send it when the agent has ended')}
            disabled={busy || sending || empty}
            onClick={() => {
              if (images.length > 0) setProblem(tr('A message with images cannot wait: send it, or remove them.'));
              else void send(() => onQueue(files).then(() => true));
            }}
          >
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
