import { useEffect, useState } from 'react';
import { tr } from '../i18n/text';

// CopyButton copies a text, and says whether it did: browsers have no clipboard for pages
// that come without TLS from another machine.
export function CopyButton({ text }: { text: string }) {
  const [outcome, setOutcome] = useState<'copied' | 'refused' | null>(null);
  useEffect(() => setOutcome(null), [text]);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setOutcome('copied');
    } catch {
      setOutcome('refused');
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
