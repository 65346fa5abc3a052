import { useCallback, useLayoutEffect, useMemo, useRef, useState, type RefObject } from 'react';
import { withoutGranted } from '../events/acp';
import { undone } from '../events/branch';
import { eventOf, type Item } from '../events/item';
import type { Readable } from '../events/store';
import { openTasks } from '../events/tasks';
import { useView } from '../events/useView';
import { grouped, type Group, type Grouped, type Row } from './groups';
import { plural } from '../i18n/text';

export interface Rows {
  rows: Row[];
  gone: ReadonlySet<string>; // events that were undone
  threads: ReadonlySet<string>; // tasks whose threads are open
  isOpen: (id: string) => boolean;
  onToggle: (id: string, open: boolean) => void;
  onFold: (group: Group) => void;
  reveal: (line: string) => void; // opens what hides a line
}

const none: ReadonlySet<string> = new Set();

// useRows are the rows that show the items of a conversation, and which of them are open.
// following: the user is at the end, where new rows come.
export function useRows(store: Readable, following: RefObject<boolean>): Rows {
  const all = useView(store, (v) => v.shown.items);
  const items = useMemo(() => withoutGranted(all), [all]);
  const events = useView(store, (v) => v.shown.events);
  const path = useView(store, (v) => v.shown.path);
  const older = useView(store, (v) => v.older !== 'none');
  const waiting = useView(store, (v) => v.timeline.status === 'waiting_for_confirmation');
  const working = useView(store, (v) => v.timeline.status === 'running');
  const [opened, setOpened] = useState<ReadonlyMap<string, boolean>>(new Map());
  const [chosen, setChosen] = useState<ReadonlyMap<string, boolean>>(new Map());

  const onToggle = useCallback((id: string, open: boolean) => setOpened((before) => new Map(before).set(id, open)), []);
  const onFold = useCallback(({ members, open }: Group) => setChosen((before) => new Map(before).set((members[0] as Item).id, !open)), []);

  const gone = useMemo(() => undone(events, path), [events, path]);
  const lastThreads = useRef(none);
  // eslint-disable-next-line react-hooks/refs -- threads that the user reads stay open, as the layout effect has left them
  const threads = useMemo(() => openTasks(items, { chosen: opened, working, reading: !following.current }, lastThreads.current), [items, opened, working, following]);
  const isOpen = useCallback((id: string) => threads.has(id) || (opened.get(id) ?? false), [threads, opened]);
  const lines = useMemo(() => folded(items, gone, opened), [items, gone, opened]);
  const lastGroups = useRef<Grouped | null>(null);
  // eslint-disable-next-line react-hooks/refs -- groups that the user reads stay as the layout effect has left them
  const groups = useMemo(() => grouped(lines, { gone, chosen, waiting, older, reading: !following.current }, lastGroups.current), [lines, gone, chosen, waiting, older, following]);
  useLayoutEffect(() => {
    lastThreads.current = threads;
    lastGroups.current = groups;
  }, [threads, groups]);
  const reveal = useCallback(
    (line: string) => {
      const group = groups.rows.find((row): row is Group => row.type === 'group' && !row.open && row.members.some((item) => item.id === line));
      if (group) return onFold(group);
      const fold = foldOf(items, gone, line);
      if (fold) onToggle(fold, true);
    },
    [groups, items, gone, onFold, onToggle],
  );
  return { rows: groups.rows, gone, threads, isOpen, onToggle, onFold, reveal };
}

const foldMark = 'undone:';

// isFold reports whether a row stands for others, which were undone.
export const isFold = (row: Row): boolean => row.id.startsWith(foldMark);

// foldOf returns the row that stands for an item that was undone; empty if the item was not.
function foldOf(items: Item[], gone: ReadonlySet<string>, id: string): string {
  const isGone = (item: Item | undefined) => item !== undefined && gone.has(eventOf(item));
  let at = items.findIndex((item) => item.id === id);
  if (!isGone(items[at])) return '';
  while (isGone(items[at - 1])) at--;
  return foldMark + (items[at] as Item).id;
}

// folded puts a line in place of items that were undone, which shows them when it is opened.
function folded(items: Item[], gone: ReadonlySet<string>, opened: ReadonlyMap<string, boolean>): Item[] {
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
    if (opened.get(id)) rows.push(...items.slice(i, end));
    i = end;
  }
  return rows;
}
