// Shows a text that was found where it is, without touching the document: the browser paints
// ranges of its text.
import { createContext, useLayoutEffect, type RefObject } from 'react';
import { textOf } from '../syntax/paint';
import { visible } from './visible';
import './found.css';

// FoundContext is the text that was found in a row; parts that show only some of theirs show all
// of it then. Empty: none was.
export const FoundContext = createContext('');

// enough reports whether a part of a text will do where another text was found.
export const enough = (part: string, all: string, found: string): boolean => found === '' || places(part, found).length > 0 || places(all, found).length === 0;

// places are where a text begins in another one, whatever the case of its letters.
export function places(all: string, text: string): number[] {
  if (text === '') return [];
  return [...all.matchAll(new RegExp(text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'), 'giu'))].map((one) => one.index);
}

// useFound marks a text in an element, and brings the first one into view, once it is there.
export function useFound(element: RefObject<HTMLElement | null>, text: string): void {
  useLayoutEffect(() => {
    const box = element.current;
    if (!box || text === '' || typeof Highlight === 'undefined') return;
    let seen = false;
    const mark = () => {
      const ranges = rangesOf(box, text);
      CSS.highlights.set(name, new Highlight(...ranges));
      // The line of a row may have room for its beginning only.
      const first = ranges.find((one) => !one.startContainer.parentElement?.closest('button')) ?? ranges[0];
      if (!first || seen) return;
      seen = true;
      show(first, box);
    };
    mark();
    const changes = new MutationObserver(mark); // parts are loaded later
    changes.observe(box, { subtree: true, childList: true, characterData: true });
    return () => {
      changes.disconnect();
      CSS.highlights.delete(name);
    };
  }, [element, text]);
}

const name = 'found';

function rangesOf(box: HTMLElement, text: string): Range[] {
  const pieces = textOf(box);
  const all = pieces.map(({ node }) => node.data).join('');
  const at = (place: number) => pieces.findLast((piece) => piece.at <= place);
  const shown = visible(text);
  return places(all, shown).flatMap((start) => {
    const first = at(start);
    const last = at(start + shown.length - 1);
    if (!first || !last) return [];
    const range = new Range();
    range.setStart(first.node, start - first.at);
    range.setEnd(last.node, start + shown.length - last.at);
    return [range];
  });
}

// show scrolls what is around a range, so that it is in view.
function show(range: Range, row: HTMLElement): void {
  for (let box = range.startContainer.parentElement; box; box = box.parentElement) {
    const { overflowX, overflowY } = getComputedStyle(box);
    if (!/auto|scroll/.test(`${overflowX} ${overflowY}`)) continue;
    const at = range.getBoundingClientRect();
    const around = box.getBoundingClientRect();
    if (at.top < around.top || at.bottom > around.bottom) box.scrollTop += (at.top + at.bottom - around.top - around.bottom) / 2;
    if (at.left < around.left || at.right > around.right) box.scrollLeft += (at.left + at.right - around.left - around.right) / 2;
    if (!row.contains(box)) return; // the list
  }
}
