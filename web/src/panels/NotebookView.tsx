import { useMemo } from 'react';
import { Ansi } from '../design/Ansi';
import '../design/ansi.css';
import { Markdown } from '../design/Markdown';
import { mostCells, readNotebook, type Output } from './notebook';
import { tr } from '../i18n/text';

// NotebookView shows the cells of a Jupyter notebook, without running anything.
export default function NotebookView({ text, name }: { text: string; name: string }) {
  const cells = useMemo(() => readNotebook(text), [text]);
  if (!cells) return <p className="hint">{tr('This is not a notebook of version 4. Download it to look into it.')}</p>;
  return (
    <div className="notebook" role="region" aria-label={name} tabIndex={0}>
      {cells.length === 0 && <p className="hint">{tr('The notebook has no cells.')}</p>}
      {cells.map((cell, i) => (
        <section key={i} className="cell" aria-label={tr('Cell {n}', { n: i + 1 })}>
          {cell.kind === 'markdown' ? (
            <Markdown text={cell.source} />
          ) : (
            <div className="cell-code">
              <span className="hint number">{cell.kind === 'code' ? `[${cell.count ?? ' '}]` : ''}</span>
              <pre className="code" tabIndex={0}>
                {cell.source}
              </pre>
            </div>
          )}
          {cell.outputs.map((output, n) => (
            <CellOutput key={n} output={output} cell={i + 1} />
          ))}
        </section>
      ))}
      {cells.length === mostCells && <p className="hint">{tr('Only the first {n} cells are shown.', { n: mostCells })}</p>}
    </div>
  );
}

function CellOutput({ output, cell }: { output: Output; cell: number }) {
  switch (output.kind) {
    case 'image':
      return <img className="picture" src={output.source} alt={tr('Output of cell {cell}', { cell })} />;
    case 'omitted':
      return <p className="hint">{tr('An output of the type {type} is not shown.', { type: output.type })}</p>;
    case 'text':
      return (
        <pre className={output.error ? 'code cell-output bad' : 'code cell-output'} tabIndex={0}>
          <Ansi text={output.text} />
        </pre>
      );
  }
}
