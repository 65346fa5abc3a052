import DOMPurify from 'dompurify';
import { memo, useMemo, useState } from 'react';
import { blocksOf } from './blocks';
import { misleads, toMarkup } from './markup';
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
  return purifier.sanitize(toMarkup(text), {
    ALLOWED_TAGS: [
      ...['p', 'br', 'hr', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'strong', 'em', 'del', 'code', 'pre', 'blockquote'],
      ...['ul', 'ol', 'li', 'a', 'table', 'thead', 'tbody', 'tr', 'th', 'td'],
    ],
    ALLOWED_ATTR: ['href', 'start', 'title', 'target', 'rel', 'data-host'],
    ALLOWED_URI_REGEXP: /^(?:https?|mailto):/i,
  });
}

// Markdown shows a text of the model or of a user. It never loads anything.
export const Markdown = memo(function Markdown({ text }: { text: string }) {
  const html = useMemo(() => toHTML(text), [text]);
  return <div className="markdown" dangerouslySetInnerHTML={{ __html: html }} />;
});

// Plain shows the words of a text, without its marks, for a place with room for a few lines.
export const Plain = memo(function Plain({ text }: { text: string }) {
  return useMemo(() => new DOMParser().parseFromString(toMarkup(text), 'text/html').body.textContent, [text]);
});

// GrowingMarkdown shows a text that grows at its end, as a model writes it: only unsettled
// blocks are read again. References to a later block are not resolved.
export function GrowingMarkdown({ text }: { text: string }) {
  const [read, setRead] = useState({ text: '', blocks: [] as string[] });
  if (read.text !== text) setRead({ text, blocks: blocksOf(text, read.blocks) });
  return (
    <div className="markdown">
      {read.blocks.map((block, i) => block.trim() && <Block key={i} text={block} />)}
    </div>
  );
}

const Block = memo(function Block({ text }: { text: string }) {
  const html = useMemo(() => toHTML(text), [text]);
  return <div className="markdown-block" dangerouslySetInnerHTML={{ __html: html }} />;
});
