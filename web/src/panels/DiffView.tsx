import { memo, useLayoutEffect, useMemo, useRef } from 'react';
import { compare, pairs, type Hunk, type Line } from './hunks';
import { visible } from '../design/visible';
import { languageOf } from '../syntax/language';
import { colour, type Piece } from '../syntax/paint';
import { tr } from '../i18n/text';
import './diff.css';

interface Props {
  before: string;
  after: string;
  path: string;
  split: boolean;
}

// DiffView compares two versions of a file, in one column or side by side.
const DiffView = memo(function DiffView({ before, after, path, split }: Props) {
  const hunks = useMemo(() => compare(before, after), [before, after]);
  const box = useRef<HTMLDivElement>(null);
  // Each version is read as a whole: a line may be in the middle of a text or a comment.
  useLayoutEffect(() => {
    const language = languageOf(path);
    const sides = { before: visible(before), after: visible(after) };
    const ends = (['before', 'after'] as const).map((side) => colour({ text: sides[side], language }, () => linesOf(box.current, side, sides[side])));
    return () => ends.forEach((end) => end());
  }, [before, after, path, split]);
  if (!hunks) return <p className="hint">{tr('The file is too large to compare here.')}</p>;
  if (hunks.length === 0) return <p className="hint">{tr('The text is the same.')}</p>;
  return (
    <div ref={box} className="diff" tabIndex={0} role="group" aria-label={tr('Changes of {path}', { path })}>
      <table>
        <tbody>
          {hunks.map((hunk, i) => (
            <HunkRows key={i} hunk={hunk} first={i === 0} split={split} />
          ))}
        </tbody>
      </table>
    </div>
  );
});

export default DiffView;

function HunkRows({ hunk, first, split }: { hunk: Hunk; first: boolean; split: boolean }) {
  return (
    <>
      {!first && (
        <tr className="diff-gap">
          <td colSpan={4}>⋯</td>
        </tr>
      )}
      {split
        ? pairs(hunk).map(([left, right], i) => (
            <tr key={i}>
              <Half line={left} side="before" />
              <Half line={right} side="after" />
            </tr>
          ))
        : hunk.lines.map((line, i) => (
            <tr key={i} className={line.kind}>
              <td className="diff-number">{line.before}</td>
              <td className="diff-number">{line.after}</td>
              <td className="diff-text">
                <Sign line={line} />
                <Words line={line} side={line.after === null ? 'before' : 'after'} />
              </td>
            </tr>
          ))}
    </>
  );
}

type Side = 'before' | 'after';

function Half({ line, side }: { line: Line | null; side: Side }) {
  return (
    <>
      <td className={`diff-number ${line?.kind ?? 'none'}`}>{line?.[side]}</td>
      <td className={`diff-text half ${line?.kind ?? 'none'}`}>
        {line && <Sign line={line} />}
        {line && <Words line={line} side={side} />}
      </td>
    </>
  );
}

function Sign({ line }: { line: Line }) {
  return <span className="diff-sign">{line.kind === 'added' ? '+' : line.kind === 'removed' ? '−' : ' '}</span>;
}

// Words are the text of a line, which linesOf finds.
const Words = ({ line, side }: { line: Line; side: Side }) => (
  <span data-side={side} data-line={line[side]}>
    {line.text}
  </span>
);

// linesOf are the shown lines of one version, with their places in its text.
function linesOf(box: Element | null, side: Side, text: string): Piece[] {
  const starts = [0];
  for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', end + 1)) starts.push(end + 1);
  return [...(box?.querySelectorAll<HTMLElement>(`[data-side=${side}]`) ?? [])].flatMap((line) =>
    line.firstChild instanceof Text ? [{ node: line.firstChild, at: starts[Number(line.dataset.line) - 1] ?? 0 }] : [],
  );
}
