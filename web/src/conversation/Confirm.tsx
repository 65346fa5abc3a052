import { useEffect, useLayoutEffect, useRef, useState, type KeyboardEvent } from 'react';
import { describe } from '../api/failure';
import type { Answer, Question } from '../api/questions';
import { tr } from '../i18n/text';
import { riskText } from './actionText';

interface Props {
  questions: Question[]; // at least one
  takesFocus: boolean; // when it appears, unless the user writes
  onAnswer: (answers: Record<string, Answer>) => Promise<void>;
}

// unread is how long keys do not answer a question that has just appeared, in milliseconds: they
// were meant for something else.
const unread = 400;

// Confirm asks whether the agent may take its actions. Single letters answer only while the
// focus is in it, and no text is being written.
export function Confirm({ questions, takesFocus, onAnswer }: Props) {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState('');
  const box = useRef<HTMLElement>(null);
  const first = questions[0]?.action_id ?? '';
  const read = useRead(first);
  useFocus(box, questions.map((q) => q.action_id).join(' '), takesFocus);

  const answer = async (answers: Record<string, Answer>) => {
    if (busy) return;
    setBusy(true);
    setProblem('');
    try {
      await onAnswer(answers);
    } catch (error) {
      setProblem(describe(error));
    } finally {
      setBusy(false);
    }
  };
  const all = (choice: Answer['choice']) => void answer(Object.fromEntries(questions.map((q) => [q.action_id, { choice }])));
  const onKey = (e: KeyboardEvent) => {
    const choice = ({ y: 'once', a: 'always', n: 'reject' } as const)[e.key.toLowerCase()];
    const writing = e.target instanceof HTMLInputElement;
    if (!choice || writing || !read || e.repeat || e.ctrlKey || e.metaKey || e.altKey) return;
    e.stopPropagation(); // it is no answer to another question of the page
    const asked = (e.target as HTMLElement).closest<HTMLElement>('[data-action]')?.dataset.action ?? first;
    if (choice === 'always' && !questions.find((q) => q.action_id === asked)?.always_for) return;
    void answer({ [asked]: { choice } });
  };

  const n = questions.length;
  return (
    <section ref={box} className="confirm" aria-label={tr('Confirmation')} tabIndex={-1} onKeyDown={onKey}>
      <div className="confirm-head">
        <h2 className="grow">{n > 1 ? tr('The agent asks to take these {n} actions', { n }) : tr('The agent asks to take this action')}</h2>
        {n > 1 && (
          <>
            <button className="button danger" disabled={busy} onClick={() => all('reject')}>
              {tr('Reject all')}
            </button>
            <button className="button" disabled={busy} onClick={() => all('once')}>
              {tr('Allow all once')}
            </button>
          </>
        )}
      </div>
      {problem && (
        <p className="banner bad" role="alert">
          {problem}
        </p>
      )}
      <ul>
        {questions.map((q) => (
          <Asked key={q.action_id} question={q} busy={busy} keys={read} onAnswer={(a) => void answer({ [q.action_id]: a })} />
        ))}
      </ul>
    </section>
  );
}

// useRead reports whether a question has been there for as long as it takes to see it.
function useRead(question: string): boolean {
  const [read, setRead] = useState('');
  useEffect(() => {
    const timer = setTimeout(() => setRead(question), unread);
    return () => clearTimeout(timer);
  }, [question]);
  return read === question;
}

// useFocus gives questions the focus, also when the one that had it is answered, and gives it
// back when there is none any more. A text that is being written keeps it.
function useFocus(box: React.RefObject<HTMLElement | null>, questions: string, takes: boolean): void {
  const before = useRef<Element | null>(null);
  const inside = useRef(false);
  useLayoutEffect(() => {
    const now = document.activeElement;
    const free = now === document.body || (now instanceof HTMLTextAreaElement && now.closest('.composer') !== null && now.value === '');
    if (box.current?.contains(now) || (!inside.current && (!takes || !free))) return;
    before.current ??= now;
    box.current?.focus({ preventScroll: true });
    inside.current = true;
  }, [box, questions, takes]);
  useLayoutEffect(() => {
    const own = box.current;
    const onFocus = (e: FocusEvent) => (inside.current = e.type === 'focusin' || (e.relatedTarget === null && document.hasFocus()));
    own?.addEventListener('focusin', onFocus);
    own?.addEventListener('focusout', onFocus);
    return () => {
      own?.removeEventListener('focusin', onFocus);
      own?.removeEventListener('focusout', onFocus);
      if (inside.current && before.current instanceof HTMLElement) before.current.focus();
    };
  }, [box]);
}

interface AskedProps {
  question: Question;
  busy: boolean;
  keys: boolean; // letters answer
  onAnswer: (answer: Answer) => void;
}

// Asked shows one question. Its text has the whole effect of the action: nobody should allow
// an unseen part.
function Asked({ question: q, busy, keys, onAnswer }: AskedProps) {
  const [reason, setReason] = useState('');
  const reject = () => onAnswer({ choice: 'reject', ...(reason.trim() && { reason: reason.trim() }) });
  const key = (name: string) => (keys ? name : undefined);
  return (
    <li data-action={q.action_id}>
      <p>
        <strong>{q.title}</strong> {q.form === 'arguments' && <code>{[q.mcp_server, q.tool_name].filter(Boolean).join(' · ')}</code>} {q.subject && <code>{q.subject}</code>}
        {q.risk !== 'UNKNOWN' && <span className={`risk ${q.risk}`}>{riskText(q.risk)}</span>}
      </p>
      {q.reasons.map((text) => (
        <p key={text} className="hint">
          {text}
        </p>
      ))}
      {q.summary && <p className="hint">{q.summary}</p>}
      {q.text && (
        <pre className="code" tabIndex={0} role="group" aria-label={tr('What it would do')}>
          {q.text}
        </pre>
      )}
      <div className="confirm-buttons">
        <input
          className="input"
          aria-label={tr('Reason for a rejection')}
          placeholder={tr('Reject with a reason, and the agent goes on')}
          value={reason}
          onChange={(e) => setReason(e.target.value)}
          onKeyDown={(e) => e.key === 'Enter' && reject()}
        />
        <button className="button danger" aria-keyshortcuts={key('n')} disabled={busy} onClick={reject}>
          {tr('Reject')} <kbd>N</kbd>
        </button>
      </div>
      <div className="confirm-buttons">
        {q.always_for && (
          <button className="button" aria-keyshortcuts={key('a')} disabled={busy} title={tr('In this conversation, and in its sub-agents')} onClick={() => onAnswer({ choice: 'always' })}>
            {tr('Always here for {kind}', { kind: q.always_for })} <kbd>A</kbd>
          </button>
        )}
        <button className="button primary" aria-keyshortcuts={key('y')} disabled={busy} onClick={() => onAnswer({ choice: 'once' })}>
          {tr('Allow once')} <kbd>Y</kbd>
        </button>
      </div>
    </li>
  );
}
