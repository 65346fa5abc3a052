import { describe, expect, it } from 'vitest';
import type { Event } from '../api/event';
import { ran } from './item';
import { append, empty, join, prepend, type Timeline } from './timeline';

// random is a generator whose numbers depend on its seed alone (mulberry32).
function random(seed: number): (below: number) => number {
  return (below) => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % below;
  };
}

// conversation makes events of all kinds that depend on others: results soon, late, twice
// or never, of calls whose ids come again, risks of one or several actions.
function conversation(length: number, pick: (below: number) => number): Event[] {
  const log: Event[] = [];
  const actions: { id: string; call: string; tool: string }[] = [];
  const one = () => actions[pick(4) === 0 ? pick(actions.length) : Math.max(0, actions.length - 1 - pick(3))];
  const add = (kind: string, fields: Record<string, unknown>) => {
    const n = String(log.length).padStart(6, '0');
    log.push({ id: `e${n}`, timestamp: `2026-11-24T12:00:00.${n}`, source: 'agent', kind, ...fields } as unknown as Event);
    return `e${n}`;
  };
  while (log.length < length) {
    const of = one();
    const kind = pick(of ? 11 : 3);
    if (kind === 0) add('MessageEvent', { llm_message: { role: pick(2) ? 'user' : 'assistant', content: [{ type: 'text', text: `m${log.length}` }] } });
    else if (kind < 4) {
      const tool = ['terminal', 'think', 'finish', 'task_tracker'][pick(8) || 0] ?? 'terminal';
      const call = `call${pick(5) ? log.length : pick(3)}`;
      const action = {
        terminal: { kind: 'TerminalAction', command: 'ls' },
        think: { kind: 'ThinkAction', thought: 'hm' },
        finish: { kind: 'FinishAction', message: 'done' },
        task_tracker: { kind: 'TaskTrackerAction', task_list: [{ title: `t${log.length}`, status: 'todo' }] },
      }[tool];
      const id = add('ActionEvent', { tool_name: tool, tool_call_id: call, action: pick(10) ? action : null, thought: pick(3) ? [] : [{ type: 'text', text: 'so' }] });
      actions.push({ id, call, tool });
    } else if (!of) continue;
    else if (kind < 7) add('ObservationEvent', { tool_name: of.tool, action_id: of.id, observation: { kind: 'X', content: [{ type: 'text', text: `o${log.length}` }] } });
    else if (kind === 7) add('UserRejectObservation', { tool_name: of.tool, action_id: of.id, rejection_reason: `r${log.length}` });
    else if (kind === 10) add('ConversationStateUpdateEvent', { key: 'execution_status', value: pick(2) ? 'running' : 'waiting_for_confirmation' });
    else if (kind === 8) add('AgentErrorEvent', { tool_name: of.tool, tool_call_id: of.call, error: `x${log.length}` });
    else add('SecurityAnalysisEvent', { analyzer: 'a', risks: Object.fromEntries(actions.slice(-1 - pick(3)).map((a) => [a.id, ['LOW', 'HIGH'][pick(2)]])) });
  }
  return log;
}

describe('lines of a conversation', () => {
  it('are those of all events, however they are loaded', () => {
    for (let seed = 1; seed <= 100; seed++) {
      const pick = random(seed);
      const log = conversation(20 + pick(120), pick);
      const whole = append(empty, log);
      // Windows of any size, that overlap, before and after a part of any size.
      let from = pick(log.length);
      let to = from + 1 + pick(log.length - from);
      let t: Timeline = append(empty, log.slice(from, to));
      while (from > 0 || to < log.length) {
        if (from > 0 && (to === log.length || pick(2))) {
          const next = Math.max(0, from - 1 - pick(30));
          t = prepend(t, log.slice(next, Math.min(to, from + pick(3))));
          from = next;
        } else {
          const next = Math.min(log.length, to + 1 + pick(10));
          t = append(t, log.slice(Math.max(from, to - pick(3)), next));
          to = next;
        }
        expect(t.items, `seed ${seed}, events ${from} to ${to}`).toEqual(append(empty, log.slice(from, to)).items);
      }
      expect(t.events).toEqual(whole.events);
      expect(t.items).toEqual(whole.items);
    }
  }, 60_000);

  it('say when an action began that waited for the user', () => {
    const at = (second: number, kind: string, fields: Record<string, unknown>) => ({ id: `e${second}`, timestamp: `2026-11-24T12:00:${second}`, source: 'agent', kind, ...fields }) as unknown as Event;
    const log = [
      at(10, 'ConversationStateUpdateEvent', { key: 'execution_status', value: 'running' }),
      at(11, 'ActionEvent', { tool_name: 'terminal', tool_call_id: 'c1', action: { kind: 'TerminalAction', command: 'ls' } }),
      at(12, 'ObservationEvent', { tool_name: 'terminal', action_id: 'e11', observation: { kind: 'X' } }),
      at(13, 'ActionEvent', { tool_name: 'terminal', tool_call_id: 'c2', action: { kind: 'TerminalAction', command: 'ls' } }),
      at(14, 'ConversationStateUpdateEvent', { key: 'execution_status', value: 'waiting_for_confirmation' }),
      at(50, 'ConversationStateUpdateEvent', { key: 'execution_status', value: 'running' }),
      at(52, 'ObservationEvent', { tool_name: 'terminal', action_id: 'e13', observation: { kind: 'X' } }),
    ];
    const times = append(empty, log).items.map((item) => item.type === 'action' && ran([item]));
    expect(times).toEqual([1000, 2000]);
  });

  it('stay the same where a part meets the newest ones', () => {
    for (let seed = 1; seed <= 50; seed++) {
      const pick = random(seed);
      const log = conversation(20 + pick(120), pick);
      const at = 1 + pick(log.length - 1);
      const [older, newer] = [append(empty, log.slice(0, at)), append(empty, log.slice(at))];
      const met = join(older, newer);
      expect(met, `seed ${seed}`).toEqual({ ...append(empty, log), status: newer.status }); // which is live
      for (const item of older.items) if (item.type === 'message') expect(met.items.includes(item)).toBe(true); // which is not drawn again
      expect(append(met, log).events).toHaveLength(log.length); // all are known
    }
  });

  it('stay those of a timeline that is continued twice', () => {
    const log = conversation(60, random(7));
    const t = append(empty, log.slice(20, 40));
    const before = structuredClone(t.items);
    for (let i = 0; i < 2; i++) {
      expect(prepend(t, log.slice(0, 20)).items).toEqual(append(empty, log.slice(0, 40)).items);
      expect(append(t, log.slice(40)).items).toEqual(append(empty, log.slice(20)).items);
    }
    expect(t.items).toEqual(before);
  });

  it('cost the events that are new, not those that are there', () => {
    let reads = 0;
    const counted = (events: Event[]) =>
      events.map(
        (e) =>
          new Proxy(e, {
            get(target, field, self) {
              reads++;
              return Reflect.get(target, field, self) as unknown;
            },
          }),
      );
    const log = conversation(6000, random(3));
    let t = append(empty, counted(log.slice(3000, 3100)));
    const windows: number[] = [];
    for (let from = 2900; from >= 0; from -= 100) {
      reads = 0;
      t = prepend(t, log.slice(from, from + 100));
      windows.push(reads);
    }
    expect(t.events).toHaveLength(3100);
    // Of the events that were there, only those are read whose lines are renumbered.
    expect(Math.max(...windows)).toBeLessThan(200);
    reads = 0;
    append(t, log.slice(3100));
    expect(reads).toBe(0);
  });
});
