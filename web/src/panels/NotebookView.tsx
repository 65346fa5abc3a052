import { useMemo } from 'react';
import { Ansi } from '../design/Ansi';
import '../design/ansi.css';
import { Markdown } from '../design/Markdown';
import { Tables } from '../design/Tables';
import { Code } from '../syntax/Code';
import { mostCells, readNotebook, type Output } from './notebook';
import { tr } from '../i18n/text';

// NotebookView shows the cells of a Jupyter notebook, without running anything.
export default function NotebookView({ text, name }: { text: string; name: string }) {
  const notebook = useMemo(() => readNotebook(text), [text]);
  if (!notebook) return <p className="hint">{tr('This is not a notebook of version 4. Download it to look into it.')}</p>;
  const { cells, language } = notebook;
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
              <Code text={cell.source} language={cell.kind === 'code' ? language : ''} />
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
    case 'tables':
      return (
        <div className="cell-text">
          <Tables html={output.html} />
        </div>
      );
    case 'markdown':
      return (
        <div className="cell-text">
          <Markdown text={output.text} />
        </div>
      );
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
