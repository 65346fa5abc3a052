import { useCallback, useEffect, useRef, useState } from 'react';
import { describe } from '../api/failure';
import type { Question } from '../api/questions';
import { riskText } from './actionText';
import { tr } from '../i18n/text';

interface Props {
  questions: Question[];
  keys: 'page' | 'inside'; // where Y and N answer: of several questions on a page, the one with the focus
  onAnswer: (accept: boolean, reason: string) => Promise<void>;
}

// Confirm asks whether the agent may take its actions. Y and N answer while no text is
// being written.
export function Confirm({ questions, keys, onAnswer }: Props) {
  const [reason, setReason] = useState('');
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState('');

  const answer = useCallback(
    async (accept: boolean) => {
      setBusy(true);
      setProblem('');
      try {
        await onAnswer(accept, accept ? '' : reason.trim());
      } catch (error) {
        setProblem(describe(error));
        setBusy(false);
      }
    },
    [onAnswer, reason],
  );

  const box = useRef<HTMLElement>(null);
  useEffect(() => {
    const where = keys === 'page' ? window : box.current;
    const onKey = (event: Event) => {
      const e = event as KeyboardEvent;
      const writing = e.target instanceof HTMLElement && (e.target.isContentEditable || /^(?:INPUT|TEXTAREA|SELECT)$/.test(e.target.tagName));
      if (writing || busy || e.repeat || e.ctrlKey || e.metaKey || e.altKey) return;
      if (e.key !== 'y' && e.key !== 'n') return;
      e.stopPropagation(); // it is no answer to another question of the page
      void answer(e.key === 'y');
    };
    where?.addEventListener('keydown', onKey);
    return () => where?.removeEventListener('keydown', onKey);
  }, [answer, busy, keys]);

  const n = questions.length;
  return (
    <section ref={box} className={`confirm ${keys}`} aria-label={tr('Confirmation')}>
      <h2>{n > 1 ? tr('The agent asks to take these {n} actions', { n }) : tr('The agent asks to take this action')}</h2>
      <ul>
        {questions.map((q) => (
          <Asked key={q.action_id} question={q} />
        ))}
      </ul>
      {problem && (
        <p className="banner bad" role="alert">
          {problem}
        </p>
      )}
      <div className="confirm-buttons">
        <input
          className="input"
          aria-label={tr('Reason for a rejection')}
          placeholder={tr('Reject with a reason, and the agent goes on')}
          value={reason}
          onChange={(e) => setReason(e.target.value)}
          onKeyDown={(e) => e.key === 'Enter' && void answer(false)}
        />
        <button className="button danger" disabled={busy} onClick={() => void answer(false)}>
          {tr('Reject')} <kbd>N</kbd>
        </button>
        <button className="button primary" disabled={busy} onClick={() => void answer(true)}>
          {tr('Allow')} <kbd>Y</kbd>
        </button>
      </div>
    </section>
  );
}

// Asked shows one question. Its text has the whole effect of the action: nobody should allow
// an unseen part.
function Asked({ question: q }: { question: Question }) {
  return (
    <li>
      <p>
        <strong>{q.title}</strong> {q.form === 'arguments' && <code>{[q.mcp_server, q.tool_name].filter(Boolean).join(' · ')}</code>} {q.subject && <code>{q.subject}</code>}
        {q.risk !== 'UNKNOWN' && <span className={`risk ${q.risk}`}>{riskText(q.risk)}</span>}
      </p>
      {q.reasons.map((reason) => (
        <p key={reason} className="hint">
          {reason}
        </p>
      ))}
      {q.summary && <p className="hint">{q.summary}</p>}
      {q.text && (
        <pre className="code" tabIndex={0} role="region" aria-label={tr('What it would do')}>
          {q.text}
        </pre>
      )}
    </li>
  );
}
