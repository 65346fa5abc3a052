import { memo, useEffect, useLayoutEffect, useMemo, useRef } from 'react';
import { Virtualizer, type VirtualizerHandle } from 'virtua';
import { Icon } from '../design/Icon';
import type { Readable } from '../events/store';
import { useView } from '../events/useView';
import type { Group, Row } from './groups';
import type { Branching } from './branching';
import { Thread } from './Thread';
import { ThreadContext, type ThreadProps } from './threadContext';
import { Tail, tailOf, TimelineRow } from './TimelineRow';
import { FollowingContext, near, useFollowing } from './useFollowing';
import { useRows } from './useRows';
import { tr } from '../i18n/text';

interface Props {
  store: Readable;
  label?: string;
  address: string; // path of the conversation's page
  onOlder: () => void;
  onRetry: (() => void) | null;
  target: { id: string } | null; // an event to go to
  onBranch: Branching | null;
  sent?: number; // how many messages the user has sent from this page
}

// Timeline draws only the rows that are in view, and threads that are open. It follows the
// newest row until the user scrolls away from it or opens a row. An answer that the model
// is writing draws only its own row again.
export const Timeline = memo(function Timeline({ store, label = tr('Conversation'), address, onOlder, onRetry, target, onBranch, sent = 0 }: Props) {
  const items = useView(store, (v) => v.timeline.items);
  const events = useView(store, (v) => v.timeline.events);
  const older = useView(store, (v) => v.older);
  const tail = useView(store, tailOf);
  const list = useRef<VirtualizerHandle>(null);
  const { scroller, following, away, settle, scrolled, clicked, leave, follow } = useFollowing();
  const view = useRows(store, following);
  const { onFold } = view;

  // Rows that are put in front must not move those in view.
  const first = items[0]?.id;
  const lastFirst = useRef(first);
  const shift = lastFirst.current !== undefined && first !== lastFirst.current;
  useLayoutEffect(() => {
    lastFirst.current = first;
  }, [first]);

  const rows = useMemo(() => (tail ? [...view.rows, tailRow] : view.rows), [view.rows, tail]);
  useLayoutEffect(() => {
    if (rows.length > 0) settle(); // the size of an empty list is no reason for a layout
  }, [settle, rows]);
  // A thread that is open goes on where it is, and has its size, when it is scrolled out of view.
  const kept = useMemo(() => (view.threads.size === 0 ? [] : rows.flatMap((row, i) => (view.threads.has(row.id) ? [i] : []))), [rows, view.threads]);

  // Who sends a message wants to see the answer.
  const answered = useRef(sent);
  useLayoutEffect(() => {
    if (answered.current === sent) return;
    answered.current = sent;
    follow();
  }, [sent, follow]);

  // An event that a link names may be in an older window.
  const reached = useRef<object | null>(null);
  useEffect(() => {
    if (!target || reached.current === target) return;
    const index = rows.findIndex((i) => i.id === target.id);
    if (index >= 0) {
      reached.current = target;
      leave();
      list.current?.scrollToIndex(index, { align: 'center' });
      return;
    }
    const hidden = rows.find((row) => row.type === 'group' && !row.open && row.members.some((item) => item.id === target.id));
    if (hidden) onFold(hidden as Group);
    else if (older === 'more') onOlder();
  }, [target, rows, older, onOlder, leave, onFold]);

  useEffect(() => {
    const handle = list.current;
    if (older !== 'more' || !handle) return;
    // A window may have nothing to show; then nothing scrolls, and the next one is wanted.
    if (handle.scrollSize <= handle.viewportSize + near || (!following.current && handle.scrollOffset < near)) onOlder();
  }, [items, older, onOlder, events, following]);

  const onScroll = () => {
    scrolled();
    const box = scroller.current;
    if (older === 'more' && box && box.scrollTop < box.clientHeight) onOlder();
  };

  return (
    <div className="timeline" role="log" aria-label={label} aria-live="off">
      {older === 'loading' && (
        <p className="timeline-older" role="status">
          {tr('Loading earlier events …')}
        </p>
      )}
      <div ref={scroller} className="timeline-list" tabIndex={0} onScroll={onScroll} onClickCapture={clicked}>
        <FollowingContext value={following}>
          <ThreadContext value={drawThread}>
            <Virtualizer ref={list} data={rows} shift={shift} onResize={settle} bufferSize={400} keepMounted={kept}>
              {(item, i) =>
                item === tailRow ? (
                  <Tail key="tail" store={store} reasoning={view.isOpen('draft')} onToggle={view.onToggle} />
                ) : (
                  <TimelineRow
                    key={item.id}
                    view={view}
                    rows={rows}
                    at={i}
                    store={store}
                    address={address}
                    last={i === rows.length - (tail ? 2 : 1)}
                    target={target?.id === item.id}
                    onBranch={onBranch}
                    onRetry={onRetry}
                  />
                )
              }
            </Virtualizer>
          </ThreadContext>
        </FollowingContext>
      </div>
      {away && (
        <button className="icon-button jump" aria-label={tr('Jump to the newest event')} onClick={follow}>
          <Icon name="down" />
        </button>
      )}
    </div>
  );
});

const drawThread = (props: ThreadProps) => <Thread {...props} />;

// tailRow stands for the row behind the last event.
const tailRow = { id: 'tail' } as Row;
