import { useRef, useState, type ReactNode } from 'react';
import { tr } from '../i18n/text';
import { Icon } from './Icon';
import { announce, copy, outcomeText } from './copy';
import './copyable.css';

// Copyable is a box with a button that copies its content.
export function Copyable({ label, text, children }: { label: string; text: () => string; children: ReactNode }) {
  const box = useRef<HTMLDivElement>(null);
  return (
    <div className="copyable" ref={box}>
      {children}
      <Copy label={label} text={text} place={() => box.current?.querySelector('pre')} />
    </div>
  );
}

interface Props {
  label: string;
  text: () => string | Promise<string>;
  className?: string;
  icon?: boolean; // it has no words
  place?: () => Element | null | undefined; // where the text is shown
}

// Copy is a button that copies a text. It says so until it is left.
export function Copy({ label, text, className = 'copy', icon = false, place }: Props) {
  const [copied, setCopied] = useState(false);
  const run = async () => {
    const done = await copy(await text(), place?.());
    setCopied(done);
    announce(outcomeText(done));
  };
  const forget = () => setCopied(false);
  const name = copied ? tr('Copied') : label;
  return (
    <button type="button" className={className} aria-label={name} title={name} onClick={() => void run()} onBlur={forget} onPointerLeave={forget}>
      {icon ? <Icon name={copied ? 'check' : 'copy'} size={14} /> : copied ? tr('Copied') : tr('Copy')}
    </button>
  );
}

// copyBlock handles clicks in a text that was made from Markdown: its blocks of code have
// such a button.
export function copyBlock(e: { target: EventTarget }): void {
  const button = e.target instanceof Element ? e.target.closest('.copy') : null;
  const block = button?.parentElement?.querySelector('pre');
  if (!button || !block) return;
  void copy((block.textContent ?? '').replace(/\n$/, ''), block).then((copied) => {
    const outcome = outcomeText(copied);
    announce(outcome);
    if (!copied) return;
    name(button, outcome, outcome);
    button.addEventListener('blur', () => name(button, tr('Copy the code'), tr('Copy')), { once: true });
  });
}

function name(button: Element, label: string, text: string): void {
  button.setAttribute('aria-label', label);
  button.textContent = text;
}

// withCopies puts such a button beside each block of code.
export function withCopies(body: HTMLElement): HTMLElement {
  for (const block of body.querySelectorAll('pre')) {
    const box = document.createElement('div');
    box.className = 'copyable';
    block.replaceWith(box);
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'copy';
    name(button, tr('Copy the code'), tr('Copy'));
    box.append(block, button);
  }
  return body;
}
