import { useState } from 'react';
import { Ansi } from '../design/Ansi';
import { number, tr } from '../i18n/text';
import '../design/ansi.css';

// shown is how much of an output is drawn at first, in characters.
const shown = 20_000;

// Output of a program. Of a long one the end is shown: results and errors are there.
export function Output({ text }: { text: string }) {
  const [all, setAll] = useState(false);
  if (text === '') return <p className="hint">{tr('No output')}</p>;
  const cut = !all && text.length > shown;
  return (
    <>
      {cut && (
        <p className="hint">
          {tr('The last {shown} of {all} characters.', { shown: number(shown), all: number(text.length) })}{' '}
          <button className="link" onClick={() => setAll(true)}>
            {tr('Show all')}
          </button>
        </p>
      )}
      <pre className="code output" tabIndex={0} role="region" aria-label={tr('Output')}>
        <Ansi text={cut ? text.slice(-shown) : text} />
      </pre>
    </>
  );
}
