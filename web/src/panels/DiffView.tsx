import { memo, useMemo } from 'react';
import { compare, pairs, type Hunk, type Line } from './hunks';
import { visible } from '../design/visible';
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
  if (!hunks) return <p className="hint">{tr('The file is too large to compare here.')}</p>;
  if (hunks.length === 0) return <p className="hint">{tr('The text is the same.')}</p>;
  return (
    <div className="diff" tabIndex={0} role="region" aria-label={tr('Changes of {path}', { path })}>
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
              <Half line={left} number={left?.before ?? null} />
              <Half line={right} number={right?.after ?? null} />
            </tr>
          ))
        : hunk.lines.map((line, i) => (
            <tr key={i} className={line.kind}>
              <td className="diff-number">{line.before}</td>
              <td className="diff-number">{line.after}</td>
              <td className="diff-text">
                <Sign line={line} />
                {visible(line.text)}
              </td>
            </tr>
          ))}
    </>
  );
}

function Half({ line, number }: { line: Line | null; number: number | null }) {
  return (
    <>
      <td className={`diff-number ${line?.kind ?? 'none'}`}>{number}</td>
      <td className={`diff-text half ${line?.kind ?? 'none'}`}>
        {line && <Sign line={line} />}
        {line && visible(line.text)}
      </td>
    </>
  );
}

function Sign({ line }: { line: Line }) {
  return <span className="diff-sign">{line.kind === 'added' ? '+' : line.kind === 'removed' ? '−' : ' '}</span>;
}
