import { useContext, useState } from 'react';
import { Ansi, withoutEscapes } from '../design/Ansi';
import { Copyable } from '../design/Copyable';
import { enough, FoundContext } from '../design/found';
import { ending } from '../events/output';
import { number, tr } from '../i18n/text';
import '../design/ansi.css';

// shown is how much of an output is drawn at first, in characters.
const shown = 20_000;

// Output of a program. Of a long one the end is shown: results and errors are there.
export function Output({ text }: { text: string }) {
  const [all, setAll] = useState(false);
  const found = useContext(FoundContext);
  if (text === '') return <p className="hint">{tr('No output')}</p>;
  const cut = !all && text.length > shown && enough(ending(text, shown), text, found);
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
      <Copyable label={tr('Copy the output')} text={() => withoutEscapes(text)}>
        <pre className="code output" tabIndex={0} role="group" aria-label={tr('Output')}>
          <Ansi text={cut ? ending(text, shown) : text} />
        </pre>
      </Copyable>
    </>
  );
}
