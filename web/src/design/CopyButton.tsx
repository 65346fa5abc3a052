import { useState } from 'react';
import { tr } from '../i18n/text';

// CopyButton copies a text, and says whether it did: browsers have no clipboard for pages
// that come without TLS from another machine.
export function CopyButton({ text }: { text: string }) {
  const [tried, setTried] = useState({ text, outcome: '' as '' | 'copied' | 'refused' });
  const outcome = tried.text === text ? tried.outcome : ''; // of another text nothing is said
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setTried({ text, outcome: 'copied' });
    } catch {
      setTried({ text, outcome: 'refused' });
    }
  };
  return (
    <>
      <button type="button" className="button" onClick={() => void copy()}>
        {tr('Copy')}
      </button>
      <span className="hint" role="status">
        {outcome === 'copied' && tr('Copied')}
        {outcome === 'refused' && tr('The browser does not allow it: select and copy it.')}
      </span>
    </>
  );
}
