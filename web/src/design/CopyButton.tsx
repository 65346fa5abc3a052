import { useState } from 'react';
import { tr } from '../i18n/text';
import { copy, outcomeText } from './copy';

// CopyButton copies a text, and says beside it whether it did.
export function CopyButton({ text }: { text: string }) {
  const [tried, setTried] = useState({ text, outcome: '' });
  return (
    <>
      <button type="button" className="button" onClick={() => void copy(text).then((copied) => setTried({ text, outcome: outcomeText(copied) }))}>
        {tr('Copy')}
      </button>
      <span className="hint" role="status">
        {tried.text === text && tried.outcome /* of another text nothing is said */}
      </span>
    </>
  );
}
