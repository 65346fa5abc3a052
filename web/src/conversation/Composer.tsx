import { useLayoutEffect, useRef, useState, type ClipboardEvent, type DragEvent, type Ref } from 'react';
import { describe } from '../api/failure';
import { Icon } from '../design/Icon';
import './composer.css';

interface Props {
  ref?: Ref<HTMLTextAreaElement>;
  label: string;
  placeholder: string;
  text: string;
  onText: (text: string) => void;
  busy: boolean;
  sendLabel: string;
  onSend: (images: string[]) => Promise<boolean>; // true: sent, the box is emptied
}

// largestImage is how large an attached image may be, in bytes.
const largestImage = 5 << 20;

// Composer is the box for a task or message, with images by paste and drop.
export function Composer({ ref, label, placeholder, text, onText, busy, sendLabel, onSend }: Props) {
  const [images, setImages] = useState<string[]>([]);
  const [problem, setProblem] = useState('');
  const own = useRef<HTMLTextAreaElement>(null);
  const picker = useRef<HTMLInputElement>(null);

  useLayoutEffect(() => {
    const box = own.current;
    if (!box) return;
    box.style.height = 'auto';
    box.style.height = `${Math.min(box.scrollHeight, window.innerHeight * 0.4)}px`;
  }, [text]);

  const attach = async (files: Iterable<File>) => {
    setProblem('');
    for (const file of files) {
      if (!/^image\/(png|jpeg|gif|webp)$/.test(file.type)) setProblem(`${file.name} is not an image. Upload other files in the Files panel.`);
      else if (file.size > largestImage) setProblem(`${file.name} is larger than 5 MB.`);
      else {
        const url = await dataURL(file);
        setImages((all) => [...all, url]);
      }
    }
  };

  const send = async () => {
    if (busy || (!text.trim() && images.length === 0)) return;
    setProblem('');
    try {
      if (await onSend(images)) {
        onText('');
        setImages([]);
      }
    } catch (error) {
      setProblem(describe(error));
    }
  };

  return (
    <form
      className="composer"
      onSubmit={(e) => {
        e.preventDefault();
        void send();
      }}
      onDragOver={(e) => e.preventDefault()}
      onDrop={(e: DragEvent) => {
        e.preventDefault();
        void attach(e.dataTransfer.files);
      }}
    >
      {images.length > 0 && (
        <ul className="composer-images">
          {images.map((image, i) => (
            <li key={i}>
              <img src={image} alt={`Attached image ${i + 1}`} />
              <button type="button" className="icon-button" aria-label={`Remove image ${i + 1}`} onClick={() => setImages(images.filter((_, n) => n !== i))}>
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
          if (e.key !== 'Enter' || e.shiftKey || e.nativeEvent.isComposing) return;
          e.preventDefault();
          void send();
        }}
      />
      <div className="composer-bar">
        <button type="button" className="icon-button" aria-label="Attach images" onClick={() => picker.current?.click()}>
          <Icon name="image" />
        </button>
        <input
          ref={picker}
          type="file"
          accept="image/png,image/jpeg,image/gif,image/webp"
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
        <button className="button primary" disabled={busy || (!text.trim() && images.length === 0)}>
          <Icon name="send" size={14} /> {sendLabel}
        </button>
      </div>
    </form>
  );
}

function dataURL(file: File): Promise<string> {
  return new Promise((done, fail) => {
    const reader = new FileReader();
    reader.onload = () => done(String(reader.result));
    reader.onerror = () => fail(new Error(`${file.name} cannot be read.`));
    reader.readAsDataURL(file);
  });
}
