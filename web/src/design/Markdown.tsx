import DOMPurify from 'dompurify';
import { memo, useLayoutEffect, useMemo, useRef, useState } from 'react';
import { colour, textOf } from '../syntax/paint';
import { blocksOf } from './blocks';
import { copyBlock, withCopies } from './Copyable';
import { misleads, toMarkup } from './markup';
import { showTexts } from './visible';
import './markdown.css';

const purifier = DOMPurify(window);

purifier.addHook('afterSanitizeAttributes', (node) => {
  // A wide block scrolls in itself, by keys as well.
  if (node.nodeName === 'PRE' || node.nodeName === 'TABLE') node.setAttribute('tabindex', '0');
  if (node.nodeName !== 'A') return;
  const address = node.getAttribute('href') ?? '';
  let target: URL;
  try {
    target = new URL(address);
  } catch {
    // Relative links lead nowhere: the page is not where the text comes from.
    node.removeAttribute('href');
    return;
  }
  node.setAttribute('target', '_blank');
  node.setAttribute('rel', 'noopener noreferrer');
  node.setAttribute('title', target.href);
  if (misleads(node.textContent ?? '', target)) node.setAttribute('data-host', target.host);
});

function toHTML(text: string): string {
  const body = purifier.sanitize(toMarkup(text), {
    ALLOWED_TAGS: [
      ...['p', 'br', 'hr', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'strong', 'em', 'del', 'code', 'pre', 'blockquote'],
      ...['ul', 'ol', 'li', 'a', 'table', 'thead', 'tbody', 'tr', 'th', 'td'],
    ],
    ALLOWED_ATTR: ['href', 'start', 'title', 'target', 'rel', 'data-host', 'data-language'],
    ALLOWED_URI_REGEXP: /^(?:https?|mailto):/i,
    RETURN_DOM: true,
  });
  showTexts(body as HTMLElement);
  return withCopies(body as HTMLElement).innerHTML;
}

// useColours colours the code of a text that is settled.
function useColours(html: string, settled: boolean) {
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (!settled) return;
    const blocks = [...(box.current?.querySelectorAll<HTMLElement>('pre[data-language]') ?? [])];
    const ends = blocks.map((block) => colour({ text: block.textContent ?? '', language: block.dataset.language ?? '' }, () => textOf(block)));
    return () => ends.forEach((end) => end());
  }, [html, settled]);
  return box;
}

// Markdown shows a text of the model or of a user. It never loads anything.
export const Markdown = memo(function Markdown({ text }: { text: string }) {
  const html = useMemo(() => toHTML(text), [text]);
  const box = useColours(html, true);
  return <div ref={box} className="markdown" onClick={copyBlock} dangerouslySetInnerHTML={{ __html: html }} />;
});

// Plain shows the words of a text, without its marks, for a place with room for a few lines.
export const Plain = memo(function Plain({ text }: { text: string }) {
  return <>{useMemo(() => new DOMParser().parseFromString(toMarkup(text), 'text/html').body.textContent, [text])}</>;
});

// GrowingMarkdown shows a text that grows at its end, as a model writes it: only unsettled
// blocks are read again. References to a later block are not resolved.
export function GrowingMarkdown({ text }: { text: string }) {
  const [read, setRead] = useState({ text: '', blocks: [] as string[] });
  if (read.text !== text) setRead({ text, blocks: blocksOf(text, read.blocks) });
  return (
    <div className="markdown" onClick={copyBlock}>
      {read.blocks.map((block, i) => block.trim() && <Block key={i} text={block} settled={i < read.blocks.length - 2} />)}
    </div>
  );
}

const Block = memo(function Block({ text, settled }: { text: string; settled: boolean }) {
  const html = useMemo(() => toHTML(text), [text]);
  const box = useColours(html, settled);
  return <div ref={box} className="markdown-block" dangerouslySetInnerHTML={{ __html: html }} />;
});
