import { memo, useCallback, useDeferredValue, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react';
import { Virtualizer, type VirtualizerHandle } from 'virtua';
import { Icon } from '../design/Icon';
import { Menu } from '../design/Menu';
import { GrowingMarkdown } from '../design/Markdown';
import { undone } from '../events/branch';
import { eventOf, type Item, type MessageItem } from '../events/item';
import type { Readable, View } from '../events/store';
import { useView } from '../events/useView';
import { ActionLine, ResultLine } from './ActionLine';
import { GroupLine } from './GroupLine';
import { grouped, together, type Group, type Grouped, type Row as AnyRow } from './groups';
import { ErrorBlock, Message, Note, Reasoning } from './Rows';
import { near, useFollowing } from './useFollowing';
import { plural, tr } from '../i18n/text';

interface Props {
  store: Readable;
  label?: string;
  onOlder: () => void;
  onRetry: () => void;
  target: { id: string } | null; // an event to go to
  onBranch: Branching | null;
  sent?: number; // how many messages the user has sent from this page
}

// Branching goes on from an event: in a copy, here, or with another message in its place.
export interface Branching {
  from: (kind: 'fork' | 'rewind', event: string) => void;
  edit: (message: MessageItem) => void;
}

// Timeline draws only the rows that are in view. It follows the newest row until the user
// scrolls away from it or opens a row. What the model is writing draws only its own row again.
export const Timeline = memo(function Timeline({ store, label = tr('Conversation'), onOlder, onRetry, target, onBranch, sent = 0 }: Props) {
  const items = useView(store, (v) => v.timeline.items);
  const events = useView(store, (v) => v.timeline.events);
  const path = useView(store, (v) => v.timeline.path);
  const older = useView(store, (v) => v.older);
  const directory = useView(store, (v) => v.timeline.directory);
  const waiting = useView(store, (v) => v.timeline.status === 'waiting_for_confirmation');
  const ended = useView(store, (v) => v.timeline.status === 'error' || v.timeline.status === 'stuck');
  const tail = useView(store, tailOf);
  const list = useRef<VirtualizerHandle>(null);
  const { scroller, following, away, settle, scrolled, clicked, leave, follow } = useFollowing();
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set());
  const [chosen, setChosen] = useState<ReadonlyMap<string, boolean>>(new Map());

  const toggle = useCallback((id: string) => {
    setOpened((before) => {
      const next = new Set(before);
      if (!next.delete(id)) next.add(id);
      return next;
    });
  }, []);

  const fold = useCallback(({ members, open }: Group) => setChosen((before) => new Map(before).set((members[0] as Item).id, !open)), []);

  // Rows that are put in front must not move those in view.
  const first = items[0]?.id;
  const lastFirst = useRef(first);
  const shift = lastFirst.current !== undefined && first !== lastFirst.current;
  useLayoutEffect(() => {
    lastFirst.current = first;
  }, [first]);

  const gone = useMemo(() => undone(events, path), [events, path]);
  const lines = useMemo(() => folded(items, gone, opened), [items, gone, opened]);
  const lastGroups = useRef<Grouped | null>(null);
  const groups = useMemo(
    () => grouped(lines, { gone, chosen, waiting, older: older !== 'none', reading: !following.current }, lastGroups.current),
    [lines, gone, chosen, waiting, older, following],
  );
  useLayoutEffect(() => {
    lastGroups.current = groups;
  }, [groups]);
  const rows = useMemo(() => (tail ? [...groups.rows, tailRow] : groups.rows), [groups, tail]);
  useLayoutEffect(settle, [settle, rows]);

  // Who sends a message wants to see what comes of it.
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
    if (hidden) fold(hidden as Group);
    else if (older === 'more') onOlder();
  }, [target, rows, older, onOlder, leave, fold]);

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
        <Virtualizer ref={list} data={rows} shift={shift} onResize={settle} bufferSize={400}>
          {(item, i) =>
            item === tailRow ? (
              <Tail key="tail" store={store} reasoning={opened.has('draft')} onToggle={toggle} />
            ) : item.type === 'group' ? (
              <div key={item.id} className="timeline-row group">
                <GroupLine group={item} onFold={fold} />
              </div>
            ) : (
              <div
                key={item.id}
                className={['timeline-row', item.type, target?.id === item.id && 'target', gone.has(eventOf(item)) && 'undone', together(rows, i) && `together ${together(rows, i)}`].filter(Boolean).join(' ')}
              >
                {together(rows, i) === 'first' && <span className="visually-hidden">{tr('The agent asked for these at once:')}</span>}
                {item.id.startsWith(foldMark) || <RowMenu item={item} onBranch={onBranch} />}
                <Row
                  item={item}
                  directory={directory}
                  open={opened.has(item.id)}
                  waiting={waiting}
                  last={i === rows.length - (tail ? 2 : 1)}
                  onToggle={toggle}
                  onRetry={ended ? onRetry : null}
                />
              </div>
            )
          }
        </Virtualizer>
      </div>
      {away && (
        <button className="icon-button jump" aria-label={tr('Jump to the newest event')} onClick={follow}>
          <Icon name="down" />
        </button>
      )}
    </div>
  );
});

const foldMark = 'undone:';

// folded puts a line in place of items that were undone, which shows them when it is opened.
function folded(items: Item[], gone: ReadonlySet<string>, opened: ReadonlySet<string>): Item[] {
  if (gone.size === 0) return items;
  const rows: Item[] = [];
  for (let i = 0; i < items.length; ) {
    const first = items[i] as Item;
    let end = i;
    while (end < items.length && gone.has(eventOf(items[end] as Item))) end++;
    if (end === i) {
      rows.push(first);
      i++;
      continue;
    }
    const id = foldMark + first.id;
    rows.push({ type: 'note', id, time: first.time, text: plural(end - i, 'Undone: a line of another branch', 'Undone: {n} lines of another branch'), detail: '', folds: true });
    if (opened.has(id)) rows.push(...items.slice(i, end));
    i = end;
  }
  return rows;
}

// tailRow stands for the row behind the last event.
const tailRow = { id: 'tail' } as AnyRow;

interface TailProps {
  store: Readable;
  reasoning: boolean;
  onToggle: (id: string) => void;
}

// Tail is what the model is writing, or that it is at work. Keys of the user come first.
function Tail({ store, reasoning, onToggle }: TailProps) {
  const newest = useView(store, (v) => v.timeline.draft);
  const deferred = useDeferredValue(newest);
  const draft = newest && deferred; // what is stored by now is not shown twice
  const retry = useView(store, (v) => v.timeline.retry);
  return (
    <div className="timeline-row">
      {draft ? (
        <div className="message agent draft">
          {draft.reasoning && <Reasoning id="draft" text={draft.reasoning} open={reasoning || !draft.text} onToggle={onToggle} />}
          {draft.text && <GrowingMarkdown text={draft.text} />}
        </div>
      ) : (
        <p className="note working" role="status">
          <span className="dot running" aria-hidden="true" />{' '}
          {retry ? tr('The model did not answer. Attempt {n} of {all}: {detail}', { n: retry.attempt + 1, all: retry.attempts, detail: retry.detail }) : tr('Thinking …')}
        </p>
      )}
    </div>
  );
}

// tailOf reports whether a row behind the last event is shown: what the model is
// writing, or that it is at work.
function tailOf({ timeline }: View): boolean {
  if (timeline.draft) return true;
  if (timeline.status !== 'running') return false;
  // Messages of the user may have come while an action runs.
  const last = timeline.items.findLast((item) => !(item.type === 'message' && item.from === 'user'));
  return !(last?.type === 'action' && last.outcome === null);
}

interface RowProps {
  item: Item;
  directory: string;
  open: boolean;
  waiting: boolean;
  last: boolean;
  onToggle: (id: string) => void;
  onRetry: (() => void) | null;
}

function Row({ item, directory, open, waiting, last, onToggle, onRetry }: RowProps) {
  switch (item.type) {
    case 'message':
      return <Message item={item} open={open} onToggle={onToggle} />;
    case 'action':
      return <ActionLine item={item} directory={directory} open={open} waiting={waiting} onToggle={onToggle} />;
    case 'result':
      return <ResultLine item={item} open={open} onToggle={onToggle} />;
    case 'error':
      return <ErrorBlock item={item} last={last} onRetry={onRetry} />;
    case 'note':
      return <Note item={item} open={open} onToggle={onToggle} />;
  }
}

// RowMenu appears beside a row that is pointed at or has the focus.
const RowMenu = memo(function RowMenu({ item, onBranch }: { item: Item; onBranch: Props['onBranch'] }) {
  const event = eventOf(item);
  const link = () => void navigator.clipboard.writeText(`${window.location.origin}${window.location.pathname}?event=${encodeURIComponent(item.id)}`);
  return (
    <span className="row-menu">
      <Menu
        label={tr('Actions of this event')}
        items={[
          ...(onBranch
            ? [
                ...(item.type === 'message' && item.from === 'user' ? [{ label: tr('Edit and send again …'), run: () => onBranch.edit(item) }] : []),
                { label: tr('Fork from here …'), run: () => onBranch.from('fork', event) },
                { label: tr('Rewind to here …'), run: () => onBranch.from('rewind', event) },
              ]
            : []),
          { label: tr('Copy a link'), run: link },
          ...(item.type === 'message' ? [{ label: tr('Copy the text'), run: () => void navigator.clipboard.writeText(item.text) }] : []),
        ]}
      >
        <Icon name="more" size={14} />
      </Menu>
    </span>
  );
});
