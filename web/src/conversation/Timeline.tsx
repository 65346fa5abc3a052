import { memo, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react';
import { Virtualizer, type VirtualizerHandle } from 'virtua';
import { Icon } from '../design/Icon';
import { lineOf } from '../events/lines';
import type { EventStore } from '../events/store';
import { useView } from '../events/useView';
import type { Branching } from './branching';
import type { Row, TailRow } from './groups';
import { Thread } from './Thread';
import { ThreadContext, type ThreadProps } from './threadContext';
import { keyOf, TimelineRow } from './TimelineRow';
import { FollowingContext, near, useFollowing } from './useFollowing';
import { isTask } from '../events/tasks';
import { useRows } from './useRows';
import { useTail } from './useTail';
import type { Target } from './useTarget';
import { tr } from '../i18n/text';

interface Props {
  store: EventStore;
  label?: string;
  address: string; // path of the conversation's page
  onRetry: (() => void) | null;
  target: Target | null; // an event to go to
  onBranch: Branching | null;
  ends?: number; // how often the end was wanted, as by a message that was sent
  onEnd?: () => void; // the user wants to go there
}

// Timeline draws only the rows that are in view, and threads that are open. It follows the
// newest row until the user scrolls away from it or opens a row. An answer that the model
// is writing draws only its own row again.
export const Timeline = memo(function Timeline({ store, label = tr('Conversation'), address, onRetry, target, onBranch, ends = 0, onEnd }: Props) {
  const shown = useView(store, (v) => v.shown);
  const place = useView(store, (v) => v.place);
  const older = useView(store, (v) => v.older);
  const newer = useView(store, (v) => v.newer);
  const seeking = useView(store, (v) => v.seeking);
  const { items, events } = shown;
  const tail = useTail(store);
  const list = useRef<VirtualizerHandle>(null);
  const { scroller, following, away, settle, scrolled, clicked, leave, follow } = useFollowing(newer === 'none');
  const view = useRows(store, following);
  const { onToggle, reveal } = view;

  // Rows that are put in front must not move the rows in view.
  const first = items[0]?.id;
  const last = useRef({ first, place });
  const shift = last.current.first !== undefined && first !== last.current.first && place === last.current.place;
  useLayoutEffect(() => {
    last.current = { first, place };
  }, [first, place]);

  const rows = useMemo(() => [...view.rows, ...tail], [view.rows, tail]);
  useLayoutEffect(() => {
    if (rows.length > 0) settle(); // the size of an empty list is no reason for a layout
  }, [settle, rows]);
  // A thread that is open goes on where it is, and has its size, when it is scrolled out of view.
  const kept = useMemo(() => (view.threads.size === 0 ? [] : rows.flatMap((row, i) => (view.threads.has(row.id) ? [i] : []))), [rows, view.threads]);

  // Who sends a message wants to see the answer.
  const toEnd = useCallback(() => {
    store.showNewest();
    follow();
  }, [store, follow]);
  const went = useRef(ends);
  useLayoutEffect(() => {
    if (went.current === ends) return;
    went.current = ends;
    toEnd();
  }, [ends, toEnd]);

  // The store looks for an event that is not there. Where it is, its line may be folded.
  const [reached, setReached] = useState<{ target: Target | null; line: string }>({ target: null, line: '' });
  useEffect(() => {
    if (!target || reached.target === target || seeking) return;
    const line = lineOf(shown, target.id);
    const index = rows.findIndex((row) => row.id === line);
    const row = rows[index];
    if (!row) {
      reveal(line);
      return;
    }
    setReached({ target, line });
    leave();
    if (opens(row, target.text)) onToggle(line, true);
    list.current?.scrollToIndex(index, { align: 'start', offset: -(scroller.current?.clientHeight ?? 0) / 3 });
  }, [target, reached, seeking, shown, rows, scroller, leave, reveal, onToggle]);

  useEffect(() => {
    if (older !== 'more' && newer !== 'more') return;
    const load = () => {
      const handle = list.current;
      if (!handle || seeking) return;
      // A window may have nothing to show; then nothing scrolls, and the next one is wanted.
      const scrolls = handle.scrollSize > handle.viewportSize + near;
      if (older === 'more' && !(scrolls && (following.current || handle.scrollOffset >= near))) store.loadOlder();
      if (newer === 'more' && !(scrolls && handle.scrollSize - handle.viewportSize - handle.scrollOffset >= near)) store.loadNewer();
    };
    // Loaded rows are painted first, in their places.
    let timer: ReturnType<typeof setTimeout> | undefined;
    const frame = requestAnimationFrame(() => (timer = setTimeout(load)));
    return () => {
      cancelAnimationFrame(frame);
      clearTimeout(timer);
    };
  }, [items, older, newer, seeking, store, events, following]);

  const onScroll = () => {
    scrolled();
    const box = scroller.current;
    if (!box) return;
    if (older === 'more' && box.scrollTop < box.clientHeight) store.loadOlder();
    if (newer === 'more' && box.scrollHeight - box.clientHeight - box.scrollTop < box.clientHeight) store.loadNewer();
  };

  return (
    <div className="timeline" role="log" aria-label={label} aria-live="off">
      {(older === 'loading' || seeking) && (
        <p className="timeline-older" role="status">
          {seeking ? tr('Loading …') : tr('Loading earlier events …')}
        </p>
      )}
      <div ref={scroller} className="timeline-list" tabIndex={0} onScroll={onScroll} onClickCapture={clicked}>
        <FollowingContext value={following}>
          <ThreadContext value={drawThread}>
            <Virtualizer key={place} ref={list} data={rows} shift={shift} onResize={settle} bufferSize={400} keepMounted={kept}>
              {(item, i) => (
                <TimelineRow
                  key={keyOf(item)}
                  view={view}
                  rows={rows}
                  at={i}
                  store={store}
                  address={address}
                  last={newer === 'none' && i === view.rows.length - 1}
                  target={reached.target === target && reached.line === item.id ? target : null}
                  onBranch={onBranch}
                  onRetry={onRetry}
                />
              )}
            </Virtualizer>
          </ThreadContext>
        </FollowingContext>
      </div>
      {away && (
        <button className="icon-button jump" aria-label={tr('Jump to the newest event')} onClick={onEnd ?? toEnd}>
          <Icon name="down" />
        </button>
      )}
    </div>
  );
});

// opens reports whether a row is opened for who goes there: for a text that was found, or by a
// link, where opening it starts nothing.
function opens(row: Row | TailRow, text: string): boolean {
  if (row.type === 'message') return text !== '' && row.reasoning.toLowerCase().includes(text.toLowerCase());
  return text !== '' || row.type === 'result' || (row.type === 'action' && !isTask(row));
}

const drawThread = (props: ThreadProps) => <Thread {...props} />;
