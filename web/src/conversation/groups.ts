// From the lines of a conversation to the rows of its page: actions that follow each other
// are a group, which folds to one row.
import { eventOf, type Item } from '../events/item';

// A Group is the row before the actions of a group.
export interface Group {
  type: 'group';
  id: string;
  members: Item[]; // actions, results, and the reasoning between them
  open: boolean; // its members are rows behind it
  held: boolean; // open as one of its actions waits for the user
}

export type Row = Item | Group;

// A TailRow is behind the last event: the model works, or writes a call of a tool.
export type TailRow = { type: 'thinking'; id: string } | WritingRow;

export interface WritingRow {
  type: 'writing';
  id: string;
  call: number; // its place in the draft
}

export interface Grouping {
  gone: ReadonlySet<string>; // events that were undone are in no group
  chosen: ReadonlyMap<string, boolean>; // whether the user wants a group open, by a member's id
  waiting: boolean; // actions without an outcome wait for the user
  older: boolean; // there are lines before the first one that are not loaded
  reading: boolean; // the user is not at the end: a new turn folds nothing
}

// Grouped is a grouping, with the state that the next one reuses.
export interface Grouped {
  rows: Row[];
  items: Item[];
  by: Grouping;
  runs: Run[];
  newest: number; // the place of the user's newest message, or -1
  turn: number; // and of the message that groups are folded before
}

// A Run is a sequence of members, whether it is a group or has too few actions.
interface Run {
  start: number; // places of its members, up to end
  end: number;
  third: number; // place of its third action, Infinity before that
  choice: boolean | undefined;
  row: number; // the place of its first row
  headed: boolean; // it is a group
  open: boolean;
}

// least is how many actions a group has.
const least = 3;

// grouped makes the rows of items. A group of an earlier turn is folded, one of the newest
// turn open, unless the user wants it otherwise. Unchanged rows come from
// `before`: the cost grows with the number of new and changed lines, besides copies of
// lists.
export function grouped(items: Item[], by: Grouping, before: Grouped | null): Grouped {
  const known = before ? common(before.items, items) : 0;
  const newest = newestTurn(items, by.gone, known, before);
  let turn = newest;
  if (before && by.reading && before.turn >= 0) {
    const held = before.turn < known ? before.turn : items.indexOf(before.items[before.turn] as Item);
    if (held >= 0) turn = held;
  }
  const same = before && before.turn === turn && sameGrouping(before.by, by);
  const next: Grouped = { rows: [], items, by, runs: [], newest, turn };
  let at = same ? resume(before, known, next) : 0;
  while (at < items.length) {
    const item = items[at] as Item;
    if (isAction(item) && !by.gone.has(eventOf(item))) {
      const run = { start: at, end: at, third: Infinity, choice: undefined, row: next.rows.length, headed: false, open: true };
      at = extend(next, run);
    } else {
      next.rows.push(item);
      at++;
    }
  }
  return next;
}

// resume takes the rows before the place `known`, and returns the place to go on from.
function resume(before: Grouped, known: number, next: Grouped): number {
  next.runs = before.runs.slice(0, before.runs.findLastIndex((run) => run.start < known) + 1);
  const last = next.runs.at(-1);
  if (!last) {
    next.rows = before.rows.slice(0, known);
    return known;
  }
  if (known > last.end) {
    const behind = last.row + (last.headed ? 1 : 0) + (last.open ? last.end - last.start : 0);
    next.rows = before.rows.slice(0, behind + known - last.end);
    return known;
  }
  next.runs.pop();
  if (last.third >= known || next.by.waiting) {
    next.rows = before.rows.slice(0, last.row);
    return last.start;
  }
  // It stays a group, whatever comes: only its first row is another one.
  next.rows = before.rows.slice(0, last.row + 1 + (last.open ? known - last.start : 0));
  return extend(next, { ...last, end: known });
}

// extend adds a run with the members from its end on, and returns the place behind it.
function extend(next: Grouped, run: Run): number {
  const { items, rows, by } = next;
  let from = run.end;
  let actions = run.third < from ? least : 0;
  for (; run.end < items.length; run.end++) {
    const item = items[run.end] as Item;
    if (!isMember(item) || by.gone.has(eventOf(item))) break;
    if (isAction(item) && ++actions === least) run.third = run.end;
    run.choice = by.chosen.get(item.id) ?? run.choice;
  }
  next.runs.push(run);
  const past = run.start < next.turn;
  // The first run may be the end of a longer one. It is one row by then, as later.
  run.headed = actions >= least || (past && by.older && run.start === 0);
  if (run.headed) {
    const members = items.slice(run.start, run.end);
    const held = by.waiting && members.some((item) => item.type === 'action' && item.outcome === null);
    const open = held || (run.choice ?? !past);
    if (open !== run.open) {
      run.open = open;
      from = run.start;
      rows.length = run.row;
    }
    rows[run.row] = { type: 'group', id: `group:${(items[run.start] as Item).id}`, members, open: run.open, held };
  }
  if (run.open) for (let i = from; i < run.end; i++) rows.push(items[i] as Item);
  return run.end;
}

// common is how many lines at the start are the same.
function common(before: Item[], now: Item[]): number {
  const most = Math.min(before.length, now.length);
  let n = 0;
  while (n < most && before[n] === now[n]) n++;
  return n;
}

function newestTurn(items: Item[], gone: ReadonlySet<string>, known: number, before: Grouped | null): number {
  const stays = before !== null && before.by.gone === gone && before.newest < known;
  let newest = stays ? before.newest : -1;
  for (let i = stays ? known : 0; i < items.length; i++) {
    const item = items[i] as Item;
    if (item.type === 'message' && item.from === 'user' && !gone.has(item.id)) newest = i;
  }
  return newest;
}

const sameGrouping = (a: Grouping, b: Grouping): boolean => a.gone === b.gone && a.chosen === b.chosen && a.waiting === b.waiting && a.older === b.older;

const isAction = (item: Item): boolean => item.type === 'action' || item.type === 'result';

const isMember = (item: Item): boolean => isAction(item) || (item.type === 'message' && item.from === 'agent' && !item.text && item.images.length === 0);

// Together is whether a row is one of several actions of one response of the model, and
// which of them.
export function together(rows: (Row | TailRow)[], at: number): 'first' | 'middle' | 'last' | '' {
  const response = responseOf(rows[at]);
  if (response === '') return '';
  const before = responseOf(rows[at - 1]) === response;
  const after = responseOf(rows[at + 1]) === response;
  if (before) return after ? 'middle' : 'last';
  return after ? 'first' : '';
}

const responseOf = (row: Row | TailRow | undefined): string => (row?.type === 'action' ? (row.action.llm_response_id ?? '') : '');
