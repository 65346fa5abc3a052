import { useContext, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react';
import { Link } from 'wouter';
import type { Conversation } from '../api/conversation';
import { describe } from '../api/failure';
import { Icon } from '../design/Icon';
import { OutputsContext } from '../events/output';
import { useView } from '../events/useView';
import { ConnectionBanner } from './ConnectionBanner';
import { firstShown, most, step } from './firstShown';
import type { ThreadProps } from './threadContext';
import { keyOf, TimelineRow } from './TimelineRow';
import { FollowingContext } from './useFollowing';
import { useRows } from './useRows';
import { useTail } from './useTail';
import { Waiting } from './Waiting';
import { tr } from '../i18n/text';

// Thread is a conversation inside of another one: its newest rows, and its questions.
export function Thread({ store, conversation, outputs, onOlder, resumes, address, label }: ThreadProps) {
  const following = useContext(FollowingContext);
  const view = useRows(store, following);
  const loaded = useView(store, (v) => v.loaded);
  const older = useView(store, (v) => v.older);
  const tail = useTail(store);
  const [shown, setShown] = useState(step);
  const { rows } = view;
  const all = useMemo(() => [...rows, ...tail], [rows, tail]);
  const first = useRef<string | null>(null); // the first row that is drawn
  // eslint-disable-next-line react-hooks/refs -- rows that the user reads stay, as the layout effect has left them
  const from = firstShown(rows, shown, following.current ? null : first.current);
  useLayoutEffect(() => {
    first.current = rows[from]?.id ?? null;
  }, [rows, from]);
  // A window may have too little to show.
  const wants = older === 'more' && rows.length < shown - step + 1;
  useEffect(() => {
    if (wants) onOlder();
  }, [wants, onOlder]);
  const earlier = () => {
    setShown(shown + step);
    if (from < step) onOlder();
  };
  const [failure, setFailure] = useState('');
  const resume = (paused: Conversation) => paused.run().then(
    () => setFailure(''),
    (error: unknown) => setFailure(describe(error)),
  );
  const more = from > 0 || older !== 'none';
  return (
    <section className="thread" aria-label={label}>
      <ConnectionBanner store={store} />
      {!loaded && <p className="hint late">{tr('Loading …')}</p>}
      {loaded && more && shown < most && (
        <button className="link thread-earlier" aria-disabled={older === 'loading' || undefined} onClick={() => older !== 'loading' && earlier()}>
          {tr('Show earlier')}
        </button>
      )}
      {more && shown >= most && <p className="hint">{tr('What was before is on its own page.')}</p>}
      <div role="log" aria-label={label} aria-live="off">
        <OutputsContext value={outputs}>
          {all.slice(from).map((row, i) => (
            <TimelineRow key={keyOf(row)} view={view} rows={all} at={from + i} store={store} address={address} last={from + i === all.length - 1} target={null} onBranch={null} onRetry={null} />
          ))}
        </OutputsContext>
      </div>
      {conversation?.live && <Waiting conversation={conversation} store={store} takesFocus={false} />}
      {failure && (
        <p className="banner bad" role="alert">
          {failure}
        </p>
      )}
      <p className="thread-foot">
        {conversation?.live && resumes && (
          <button className="button" onClick={() => void resume(conversation)}>
            <Icon name="play" size={14} /> {tr('Resume')}
          </button>
        )}
        {conversation ? (
          <Link className="button quiet" href={address}>
            <Opens label={label} />
          </Link>
        ) : (
          <a className="button quiet" href={address}>
            <Opens label={label} />
          </a>
        )}
      </p>
    </section>
  );
}

const Opens = ({ label }: { label: string }) => (
  <>
    {tr('Open as a page')}
    <span className="visually-hidden">: {label}</span>
  </>
);
