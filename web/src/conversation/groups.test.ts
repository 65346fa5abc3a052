import { describe, expect, test } from 'vitest';
import type { ActionEvent, Event, ObservationData } from '../api/event';
import type { ActionItem, Item, Outcome } from '../events/item';
import { append, empty, prepend, type Timeline } from '../events/timeline';
import { grouped, together, type Grouped, type Grouping, type Row } from './groups';
import { groupText } from './groupText';

const none: ReadonlySet<string> = new Set();
const plain: Grouping = { gone: none, chosen: new Map(), waiting: false, older: false, reading: false };

const user = (id: string): Item => ({ type: 'message', id, time: '', from: 'user', text: id, images: [], reasoning: '' });
const agent = (id: string): Item => ({ type: 'message', id, time: '', from: 'agent', text: id, images: [], reasoning: '' });
const thought = (id: string): Item => ({ type: 'message', id, time: '', from: 'agent', text: '', images: [], reasoning: id });
const note = (id: string): Item => ({ type: 'note', id, time: '', text: id, detail: '' });
const done = (observation: Partial<ObservationData> = {}, time = '2026-11-26T10:00:01'): Outcome => ({ state: 'done', time, observation: { kind: 'X', ...observation } });
const action = (id: string, outcome: Outcome | null = done(), data: ActionEvent['action'] = { kind: 'TerminalAction' }, llm_response_id?: string): ActionItem => ({
  type: 'action',
  id,
  time: '2026-11-26T10:00:00',
  action: { kind: 'ActionEvent', id, timestamp: '', source: 'agent', tool_name: 'x', tool_call_id: id, action: data, llm_response_id },
  reasoning: '',
  risk: 'LOW',
  outcome,
});

// shown writes a group as +n if it is open, as -n if it is folded, of n members.
const shown = (rows: Row[]) => rows.map((row) => (row.type === 'group' ? `${row.open ? '+' : '-'}${row.members.length}` : row.id)).join(' ');

describe('the rows of a conversation', () => {
  const two: Item[] = [user('u1'), action('a'), thought('t'), action('b'), action('c'), agent('m1'), user('u2'), action('d'), action('e'), action('f')];
  test.each<[string, Item[], Partial<Grouping>, string]>([
    ['an earlier turn is folded, the newest one open', two, {}, 'u1 -4 m1 u2 +3 d e f'],
    ['two actions are no group', [user('u1'), action('a'), action('b'), user('u2'), action('c')], {}, 'u1 a b u2 c'],
    ['a message, note or error is between groups', [action('a'), action('b'), note('n'), action('c'), agent('m'), action('d'), action('e'), action('f')], {}, 'a b n c m +3 d e f'],
    ['reasoning without actions is no group', [thought('t1'), thought('t2'), thought('t3'), agent('m'), user('u')], {}, 't1 t2 t3 m u'],
    ['reasoning before the first action is not in it', [thought('t'), action('a'), action('b'), action('c'), user('u')], {}, 't -3 u'],
    ['the user has opened one and folded another', two, { chosen: new Map([['b', true], ['d', false]]) }, 'u1 +4 a t b c m1 u2 -3'], // prettier-ignore
    ['what waits for the user is open', [user('u1'), action('a'), action('b'), action('c', null)], { waiting: true, chosen: new Map([['a', false]]) }, 'u1 +3 a b c'],
    ['what was undone is in no group', two, { gone: new Set(['a']) }, 'u1 a t b c m1 u2 +3 d e f'],
    ['a message that was undone begins no turn', two, { gone: new Set(['u2']) }, 'u1 +4 a t b c m1 u2 +3 d e f'],
    ['the end of a group whose start is not loaded is folded', [action('a'), agent('m'), user('u')], { older: true }, '-1 m u'],
    ['but not in the newest turn', [action('a'), agent('m')], { older: true }, 'a m'],
  ])('%s', (_, items, by, rows) => {
    const made = grouped(items, { ...plain, ...by }, null);
    expect(shown(made.rows)).toBe(rows);
    expect(made.rows.flatMap((row) => (row.type === 'group' ? [row.held] : []))).toEqual(made.rows.flatMap((row) => (row.type === 'group' ? [by.waiting === true] : [])));
  });

  test('a new turn folds nothing that the user reads, until the user is at the end', () => {
    const first = [user('u1'), action('a'), action('b'), action('c')];
    let made = grouped(first, plain, null);
    const second = [...first, user('u2')];
    made = grouped(second, { ...plain, reading: true }, made);
    expect(shown(made.rows)).toBe('u1 +3 a b c u2');
    const older = [user('u0'), action('x'), action('y'), action('z'), ...second];
    made = grouped(older, { ...plain, reading: true }, made);
    expect(shown(made.rows)).toBe('u0 -3 u1 +3 a b c u2');
    made = grouped([...older, agent('m')], plain, made);
    expect(shown(made.rows)).toBe('u0 -3 u1 -3 u2 m');
  });

  test('rows and groups that did not change stay the same', () => {
    const first = [user('u1'), action('a'), action('b'), action('c'), user('u2'), action('d'), action('e'), action('f', null)];
    const made = grouped(first, plain, null);
    const after = grouped([...first.slice(0, 7), action('f'), action('g')], plain, made);
    expect(after.rows[1]).toBe(made.rows[1]);
    expect(after.rows[3]).not.toBe(made.rows[3]);
    expect(shown(after.rows)).toBe('u1 -3 u2 +4 d e f g');
  });

  test('actions of one response stand together', () => {
    const rows = [action('a', null, null, 'r1'), action('b', null, null, 'r2'), action('c', null, null, 'r2'), action('d', null, null, 'r2'), agent('m'), action('e', null, null, 'r2')];
    expect(rows.map((_, i) => together(rows, i))).toEqual(['', 'first', 'middle', 'last', '', '']);
    expect(together([action('a'), action('b')], 1)).toBe('');
  });
});

// random is a generator whose numbers depend on its seed alone (mulberry32).
function random(seed: number): (below: number) => number {
  return (below) => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % below;
  };
}

test('rows that are made step by step are those that are made at once', () => {
  for (let seed = 1; seed <= 15; seed++) {
    const pick = random(seed);
    let n = 0;
    const one = (): Event => {
      const id = `e${String(n++).padStart(4, '0')}`;
      const base = { id, timestamp: id, source: 'agent', tool_name: 'terminal' };
      const kind = pick(12);
      if (kind === 0) return { ...base, kind: 'MessageEvent', llm_message: { role: pick(3) ? 'assistant' : 'user', content: [{ type: 'text', text: id }] } } as Event;
      if (kind < 3) return { ...base, kind: 'ActionEvent', tool_call_id: id, action: { kind: 'ThinkAction', thought: id } } as Event;
      if (kind < 8 || n < 3) return { ...base, kind: 'ActionEvent', tool_call_id: id, action: { kind: 'TerminalAction' }, thought: [] } as unknown as Event;
      return { ...base, kind: 'ObservationEvent', action_id: `e${String(n - 2 - pick(4)).padStart(4, '0')}`, observation: { kind: 'X' } } as Event;
    };
    const log = Array.from({ length: 160 }, one);
    let [start, end] = [100, 110];
    let timeline: Timeline = append(empty, log.slice(start, end));
    let by: Grouping = { ...plain, older: true };
    let made: Grouped | null = null;
    while (start > 0 || end < log.length) {
      const step = pick(8);
      if (step === 0 && start > 0) {
        const from = Math.max(0, start - 1 - pick(30));
        timeline = prepend(timeline, log.slice(from, start));
        start = from;
        by = { ...by, older: start > 0 };
      } else if (step === 1) by = { ...by, chosen: new Map([...by.chosen, [`e${String(pick(160)).padStart(4, '0')}`, pick(2) === 0]]) };
      else if (step === 2) by = { ...by, waiting: pick(2) === 0 };
      else if (step === 3) by = { ...by, gone: pick(2) ? none : new Set(log.slice(end - 8, end - 4).map((e) => e.id)) };
      else {
        timeline = append(timeline, log.slice(end, end + 1 + pick(3)));
        end = Math.min(log.length, end + 3);
        timeline = append(timeline, log.slice(start, end));
      }
      made = grouped(timeline.items, by, made);
      const whole = grouped(timeline.items, by, null);
      expect(made.rows, `seed ${seed}`).toEqual(whole.rows);
      expect(made.runs, `seed ${seed}`).toEqual(whole.runs);
    }
  }
});

describe('what a group did', () => {
  const edit = (path: string, command = 'str_replace') => ({ kind: 'FileEditorAction', command, path });
  test.each<[string, Item[], string, number, number]>([
    ['counts by what was done', [action('a'), action('b'), action('c', done(), edit('x')), action('d', done(), edit('y', 'view'))], 'Ran 2 commands, changed 1 file, read 1 file', 0, 0],
    ['a file counts once', [action('a', done(), edit('x')), action('b', done(), edit('x')), action('c', done(), edit('y'))], 'Changed 2 files', 0, 0],
    ['a command that failed ran, an edit that failed changed nothing', [action('a', done({ exit_code: 1 })), action('b', done({ is_error: true }), edit('x'))], 'Ran 1 command', 2, 0],
    ['nothing was done', [action('a', { state: 'rejected', time: '', reason: '', by: 'user' }), action('b', { state: 'failed', time: '', error: '' })], 'Asked for 2 actions', 1, 1],
    [
      'other tools',
      [{ kind: 'GrepAction' }, { kind: 'BrowserClickAction' }, { kind: 'TaskTrackerAction', command: 'plan' }, { kind: 'MCPToolAction' }, null, { kind: 'TaskAction' }].map((data, i) => action(`${i}`, done(), data)),
      'Searched once, took 1 step in the browser, delegated 1 task, updated the plan, used tools 2 times',
      0,
      0,
    ],
  ])('%s', (_, members, text, failed, rejected) => {
    expect(groupText(members)).toMatchObject({ text, failed, rejected, running: false });
  });

  test('actions that wait for the user are counted as such', () => {
    expect(groupText([action('a', null), action('b', null)], true).text).toBe('2 actions wait');
    expect(groupText([action('a'), action('b', null)], true).text).toBe('Ran 1 command, 1 action waits');
  });

  test('its time is that of its actions, counted once, without waits for the user and the model', () => {
    const at = (seconds: number) => `2026-11-26T10:00:${String(seconds).padStart(2, '0')}`;
    const from = (start: number, item: Item): Item => ({ ...item, time: at(start) });
    const members = [
      from(0, action('a', done({}, at(9)))),
      thought('t'),
      from(2, action('b', done({}, at(5)))), // beside a
      from(12, action('c', { ...done({}, at(40)), began: at(30) })),
      from(41, action('d', { state: 'rejected', time: at(50), reason: '', by: 'user' })),
      action('e', null),
    ];
    expect(groupText(members)).toMatchObject({ time: 19_000, running: true });
  });
});
