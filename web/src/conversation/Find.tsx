import { useInfiniteQuery } from '@tanstack/react-query';
import { useEffect, useMemo, useRef, useState } from 'react';
import type { Conversation } from '../api/conversation';
import { findQuery } from '../api/conversationQueries';
import { describe } from '../api/failure';
import { undone } from '../events/branch';
import { Icon } from '../design/Icon';
import type { EventStore } from '../events/store';
import { useView } from '../events/useView';
import { excerpt, hits } from './hits';
import { tr } from '../i18n/text';

interface Props {
  conversation: Conversation;
  store: EventStore;
  onGoto: (id: string, text: string) => void;
  onClose: () => void;
}

// Find searches a conversation, newest first: loaded events by itself, and all of them by the
// server. A found event that is not loaded is loaded when the user goes there.
export function Find({ conversation, store, onGoto, onClose }: Props) {
  const timeline = useView(store, (v) => v.timeline);
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const box = useRef<HTMLInputElement>(null);
  const wanted = text.trim();
  const settled = useSettled(wanted, 250);
  const found = useInfiniteQuery(findQuery(conversation, settled));
  const pages = found.data?.pages;
  const all = useMemo(
    () => (wanted ? hits(timeline.items, undone(timeline.events, timeline.path), wanted.toLowerCase(), wanted === settled ? (pages ?? []).flatMap((p) => p.events) : []) : []),
    [timeline, wanted, settled, pages],
  );
  const now = Math.min(at, all.length - 1);
  const chosen = all[now];
  useEffect(() => box.current?.focus(), []);
  useEffect(() => {
    if (chosen) onGoto(chosen, wanted);
  }, [chosen, wanted, onGoto]);
  const shown = useMemo(() => (chosen ? excerpt(timeline.items, (pages ?? []).flatMap((p) => p.events), chosen, wanted) : null), [timeline.items, pages, chosen, wanted]);
  const { hasNextPage, isFetching, fetchNextPage } = found;
  useEffect(() => {
    if (hasNextPage && !isFetching && now >= all.length - 5) void fetchNextPage();
  }, [hasNextPage, isFetching, fetchNextPage, now, all.length]);
  const move = (step: number) => all.length > 0 && setAt((now + step + all.length) % all.length);
  const busy = wanted !== settled || isFetching;
  return (
    <search className="find">
      <input
        ref={box}
        className="input"
        type="search"
        aria-label={tr('Search in the conversation')}
        placeholder={tr('Search in the conversation')}
        maxLength={200}
        value={text}
        onChange={(e) => {
          setText(e.target.value);
          setAt(0);
        }}
        onKeyDown={(e) => {
          if (e.key === 'Escape') onClose();
          else if (e.key === 'Enter') move(e.shiftKey ? -1 : 1);
          else return;
          e.preventDefault();
        }}
      />
      <span className="hint number" role="status">
        {wanted && (all.length > 0 || !busy ? `${tr('{at} of {n}', { at: now + 1, n: all.length })}${hasNextPage ? '+' : ''}` : tr('Searching …'))}
      </span>
      {found.isError && (
        <span className="hint bad" role="alert">
          {tr('Only what is loaded was searched: {reason}', { reason: describe(found.error) })}
        </span>
      )}
      <button className="icon-button" aria-label={tr('The next older one')} disabled={all.length < 2} onClick={() => move(1)}>
        <Icon name="up" size={14} />
      </button>
      <button className="icon-button" aria-label={tr('The next newer one')} disabled={all.length < 2} onClick={() => move(-1)}>
        <Icon name="down" size={14} />
      </button>
      <button className="icon-button" aria-label={tr('Close the search')} onClick={onClose}>
        <Icon name="close" size={14} />
      </button>
      {shown && (
        <p className="find-excerpt ellipsis">
          {shown.before}
          <mark>{shown.text}</mark>
          {shown.after}
        </p>
      )}
    </search>
  );
}

// useSettled is a value once it has not changed for a while, in milliseconds.
function useSettled(value: string, pause: number): string {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), pause);
    return () => clearTimeout(timer);
  }, [value, pause]);
  return settled;
}
