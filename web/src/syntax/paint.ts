// Colours code without touching the document: the browser paints ranges of its text. So the
// text can be selected, searched and copied as before, and no markup is made of it.
import './syntax.css';
import { kinds } from './kinds';
import { Reader, type Question } from './reader';
import type { Tokens } from './tokens';

const reader = new Reader(() => new Worker(new URL('./worker.ts', import.meta.url), { type: 'module' }));

// A Piece is a part of a text where it is shown.
export interface Piece {
  node: Text;
  at: number; // where it begins in the text
}

// colour paints a text as soon as it is read, and returns a function that ends that. A browser without
// such ranges shows it plain.
export function colour(question: Question, pieces: () => Piece[]): () => void {
  if (typeof Highlight === 'undefined') return () => {};
  let left = false;
  let clear = () => {};
  void reader.read(question).then((tokens) => {
    if (tokens && !left) clear = paint(pieces(), tokens);
  });
  return () => {
    left = true;
    clear();
  };
}

// paint paints the words that are in the pieces, which are in the order of the text.
function paint(pieces: Piece[], tokens: Tokens): () => void {
  const painted: [Highlight, StaticRange][] = [];
  let i = 0;
  for (const { node, at } of pieces) {
    const end = at + node.length;
    while (i < tokens.length && tokens[i + 1]! <= at) i += 3;
    for (let k = i; k < tokens.length && tokens[k]! < end; k += 3) {
      const range = new StaticRange({
        startContainer: node,
        startOffset: Math.max(tokens[k]! - at, 0),
        endContainer: node,
        endOffset: Math.min(tokens[k + 1]! - at, node.length),
      });
      const all = highlight(kinds[tokens[k + 2]!] ?? 'plain');
      all.add(range);
      painted.push([all, range]);
    }
  }
  return () => {
    for (const [all, range] of painted) all.delete(range);
  };
}

function highlight(kind: string): Highlight {
  const name = `code-${kind}`;
  let all = CSS.highlights.get(name);
  if (!all) CSS.highlights.set(name, (all = new Highlight()));
  return all;
}

// textOf are the pieces of an element whose content is a text.
export function textOf(element: Element): Piece[] {
  const found: Piece[] = [];
  const nodes = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  let at = 0;
  for (let node = nodes.nextNode(); node; node = nodes.nextNode()) {
    found.push({ node: node as Text, at });
    at += (node as Text).length;
  }
  return found;
}
