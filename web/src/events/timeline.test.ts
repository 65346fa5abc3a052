import { describe, expect, it } from 'vitest';
import { hasMessage, longText, messageOf, writtenCalls, type Answer } from './answer';
import type { Event } from '../api/event';
import { append, empty, pending, prepend } from './timeline';

let clock = 0;

function event(kind: string, fields: Record<string, unknown> = {}): Event {
  const n = String(++clock).padStart(6, '0');
  return { id: `e${n}`, timestamp: `2026-11-24T12:00:00.${n}`, source: 'agent', kind, ...fields } as unknown as Event;
}

const text = (t: string) => [{ type: 'text', text: t }];
const message = (role: string, t: string) => event('MessageEvent', { source: role === 'user' ? 'user' : 'agent', llm_message: { role, content: text(t) } });
const action = (fields: Record<string, unknown> = {}) =>
  event('ActionEvent', { tool_name: 'terminal', tool_call_id: `call${clock}`, action: { kind: 'TerminalAction', command: 'ls' }, ...fields });
const observation = (of: Event, fields: Record<string, unknown> = {}) =>
  event('ObservationEvent', { tool_name: 'terminal', action_id: of.id, observation: { kind: 'TerminalObservation', content: text('out'), ...fields } });
const state = (key: string, value: unknown) => event('ConversationStateUpdateEvent', { key, value });
const delta = (item: string, content: string): Answer => ({ type: 'answer', item_id: item, parts: [{ kind: 'text', text: content }] });

describe('append', () => {
  it('shows messages, actions and their outcomes in order', () => {
    const call = action({ thought: text('Let me look.'), reasoning_content: 'hm' });
    const t = append(empty, [message('user', 'hello'), call, observation(call), message('assistant', 'done')]);
    expect(t.items.map((i) => i.type)).toEqual(['message', 'message', 'action', 'message']);
    expect(t.items[1]).toMatchObject({ text: 'Let me look.', reasoning: 'hm' });
    expect(t.items[2]).toMatchObject({ reasoning: '', outcome: { state: 'done', observation: { content: text('out') } } });
  });

  it('drops events that come twice', () => {
    const first = message('user', 'hello');
    const once = append(empty, [first]);
    const twice = append(once, [first, first]);
    expect(twice.items).toHaveLength(1);
    expect(twice.events).toHaveLength(1);
  });

  it('does not change the timeline that it is given', () => {
    const call = action();
    const before = append(empty, [call]);
    append(before, [observation(call)]);
    expect(before.items[0]).toMatchObject({ outcome: null });
    expect(empty.items).toHaveLength(0);
  });

  it('has the newest queue, and why its first message could not be sent until that is over', () => {
    const one = { id: 'a', text: 'later' };
    const waiting = append(empty, [state('queue', [one]), event('ServerErrorEvent', { code: 'QueuedMessageFailed', detail: 'no model' })]);
    expect(waiting).toMatchObject({ queue: [one], unsent: 'no model', events: [], cursor: null });
    expect(append(waiting, [state('queue', 'nonsense')]).queue).toEqual([one]);
    expect(append(waiting, [state('execution_status', 'running'), state('queue', [])])).toMatchObject({ queue: [], unsent: '' });
  });

  it('collects what the model writes until the message is stored', () => {
    const end = message('assistant', 'one two');
    const writing = append(empty, [state('execution_status', 'running'), delta(end.id, 'one '), delta(end.id, 'two')]);
    expect(writing.draft).toEqual({ item: end.id, text: 'one two', reasoning: '', calls: [] });
    const cursor = writing.cursor;
    expect(append(writing, [delta(end.id, 'three')]).cursor).toBe(cursor);
    const written = append(writing, [end]);
    expect(written.draft).toBeNull();
    expect(written.items).toHaveLength(1);
    expect(append(written, [delta(end.id, 'late')]).draft).toBeNull();
  });

  it('shows the argument that is being written, once it is long', () => {
    const written = (field: string, t: string): Answer => ({ type: 'answer', item_id: 'a', parts: [{ kind: 'call', call: 0, tool: 'file_editor', field, text: t }] });
    let t = empty;
    const shown = (field: string, text: string) => {
      t = append(t, [written(field, text)]);
      return longText(t.draft!.calls[0]!);
    };
    expect(shown('path', '/a')).toBe('');
    expect(shown('old_str', 'one\ntwo\nthree')).toBe('one\ntwo\nthree');
    expect(shown('new_str', '1')).toBe('one\ntwo\nthree');
    expect(shown('new_str', '\n2')).toBe('1\n2');
    expect(shown('summary', 'Counts')).toBe('1\n2');
  });

  it('begins the draft anew with all that the model has written', () => {
    const writing = append(empty, [delta('a', 'lost'), { ...delta('a', 'all of it'), whole: true }, delta('a', '.')]);
    expect(writing.draft).toMatchObject({ item: 'a', text: 'all of it.' });
    expect(append(writing, [{ ...delta('a', ''), parts: [], aborted: 'cancelled' }]).draft).toBeNull();
    expect(append(writing, [message('assistant', 'of another answer')]).draft).toMatchObject({ item: 'a' });
  });

  it('collects the calls that the model writes', () => {
    const call = (field: string, text: string, size?: number): Answer => ({ type: 'answer', item_id: 'a', parts: [{ kind: 'call', call: 1, tool: 'file_editor', field, text, size }] });
    const { draft } = append(empty, [call('', ''), call('path', '/a'), call('path', '.go'), call('file_text', 'end', 10), call('file_text', '!')]);
    expect(draft?.calls[1]).toEqual({ tool: 'file_editor', fields: { path: '/a.go', file_text: 'end!' }, size: 16 });
    expect(draft && writtenCalls(draft)).toEqual([1]);
    expect(draft && hasMessage(draft)).toBe(false);
  });

  it('has a message where the text of one has begun', () => {
    const finish = (text: string): Answer => ({ type: 'answer', item_id: 'a', parts: [{ kind: 'call', call: 0, tool: 'finish', field: text && 'message', text }] });
    for (const [parts, text] of [[[delta('a', 'x')], 'x'], [[finish('')], ''], [[finish(''), finish('Do'), finish('ne')], 'Done']] as const) {
      const { draft } = append(empty, [...parts]);
      expect(draft && messageOf(draft).text).toBe(text);
      expect(draft && hasMessage(draft)).toBe(text !== '');
    }
  });

  it('counts ends of the sandbox, which are not stored', () => {
    const t = append(empty, [message('user', 'hello')]);
    const ended = append(t, [state('sandbox', { state: 'ended' })]);
    expect(ended).toMatchObject({ sandboxEnds: 1, cursor: t.cursor });
    expect(ended.events).toHaveLength(1);
  });

  it('forgets a draft when the run ends without a message', () => {
    const t = append(empty, [delta('a', 'half'), state('execution_status', 'paused')]);
    expect(t.draft).toBeNull();
    expect(t.status).toBe('paused');
  });

  it('reads the full state and does not store it', () => {
    const t = append(empty, [
      state('full_state', {
        execution_status: 'running',
        agent: { llm: { model: 'm' } },
        workspace: { working_dir: '/w' },
        stats: { usage_to_metrics: { default: { accumulated_cost: 0.5, accumulated_token_usage: { per_turn_token: 10, context_window: 100 } } } },
      }),
    ]);
    expect(t).toMatchObject({ status: 'running', model: 'm', directory: '/w', usage: { costUSD: 0.5, contextTokens: 10, contextWindow: 100 } });
    expect(t.events).toHaveLength(0);
    expect(t.cursor).toBeNull();
  });

  it('takes the context from the calls of the model that the agent has now', () => {
    const used = (tokens: number) => ({ accumulated_cost: 1, accumulated_token_usage: { per_turn_token: tokens, context_window: 100 } });
    const t = append(empty, [state('agent', { llm: { model: 'm', usage_id: 'agent' } }), state('stats', { usage_to_metrics: { title: used(3) } })]);
    expect(t.usage).toMatchObject({ costUSD: 1, contextTokens: 0, contextWindow: 0 });
    const worked = append(t, [state('stats', { usage_to_metrics: { agent: used(20), condenser: used(90), title: used(3) } })]);
    expect(worked.usage.contextTokens).toBe(20);
    const switched = append(worked, [state('agent', { llm: { model: 'other', usage_id: 'profile:fast' } })]);
    expect(switched.usage).toMatchObject({ costUSD: 3, contextTokens: 0 });
    const again = append(switched, [state('stats', { usage_to_metrics: { agent: used(20), 'profile:fast': used(25) } })]);
    expect(again.usage.contextTokens).toBe(25);
  });

  it('marks failed and rejected actions', () => {
    const [one, two] = [action({ tool_call_id: 'c1' }), action({ tool_call_id: 'c2' })];
    const t = append(empty, [
      one,
      two,
      event('AgentErrorEvent', { tool_name: 'terminal', tool_call_id: 'c1', error: 'no such tool' }),
      event('UserRejectObservation', { tool_name: 'terminal', action_id: two.id, rejection_reason: 'not now' }),
    ]);
    expect(t.items).toMatchObject([
      { outcome: { state: 'failed', error: 'no such tool' } },
      { outcome: { state: 'rejected', reason: 'not now', by: 'user' } },
    ]);
  });

  it('takes the risk from the security analysis', () => {
    const call = action();
    const t = append(empty, [call, event('SecurityAnalysisEvent', { analyzer: 'x', risks: { [call.id]: 'HIGH' } })]);
    expect(t.items[0]).toMatchObject({ risk: 'HIGH' });
  });

  it('shows finish as a message and think as reasoning', () => {
    const finish = action({ tool_name: 'finish', action: { kind: 'FinishAction', message: 'All done.' } });
    const think = action({ tool_name: 'think', action: { kind: 'ThinkAction', thought: 'maybe' } });
    const t = append(empty, [
      think,
      event('ObservationEvent', { tool_name: 'think', action_id: think.id, observation: { kind: 'ThinkObservation' } }),
      finish,
      event('ObservationEvent', { tool_name: 'finish', action_id: finish.id, observation: { kind: 'FinishObservation' } }),
    ]);
    expect(t.items).toMatchObject([
      { type: 'message', text: '', reasoning: 'maybe' },
      { type: 'message', text: 'All done.' },
    ]);
    expect(t.items).toHaveLength(2);
  });

  it('shows the verdict of a critic behind the answer', () => {
    const action = { kind: 'FinishAction', message: 'All done.' };
    const t = append(empty, [event('ActionEvent', { action, tool_name: 'finish', tool_call_id: 'c', critic_result: { score: 0.5, message: 'Half.' } })]);
    expect(t.items).toMatchObject([{ type: 'message' }, { type: 'note', text: 'Critic: 50 % likely to be a success', detail: 'Half.' }]);
  });

  it('shows errors with their cure, condensations, pauses and hooks', () => {
    const t = append(empty, [
      event('Condensation', { forgotten_event_ids: ['a', 'b'], summary: 'short' }),
      event('Condensation', { forgotten_event_ids: [] }),
      event('PauseEvent'),
      event('InterruptEvent'),
      event('HookExecutionEvent', { hook_event_type: 'Stop', hook_command: 'make', success: false, blocked: false, error: 'it was ended after its limit of 5s' }),
      event('HookExecutionEvent', { hook_event_type: 'PreToolUse', tool_name: 'terminal', hook_command: './check', success: false, blocked: true, stderr: 'not here\nmore\n' }),
      event('HookExecutionEvent', { hook_event_type: 'UserPromptSubmit', hook_command: './check', success: true, blocked: true, reason: 'too short' }),
      state('project_hooks', { file: 'hooks.json', answer: 'allowed' }),
      state('project_hooks', { file: 'hooks.json', answer: '', problem: 'no JSON' }),
      event('ConversationErrorEvent', { code: 'LLMAuthenticationError', detail: 'bad key', classification: { user_action: 'settings' } }),
    ]);
    expect(t.items).toMatchObject([
      { text: '2 earlier events were summarised for the model', detail: 'short' },
      { text: 'The history was not summarised; the model sees it as before' },
      { text: 'Paused' },
      { text: 'Paused, and its step was stopped' },
      { text: 'Hook Stop failed: it was ended after its limit of 5s' },
      { text: 'Hook PreToolUse (terminal) blocked the action: not here', detail: './check\nnot here\nmore\n' },
      { text: 'Hook UserPromptSubmit refused the message: too short' },
      { text: 'The hooks of the project are allowed' },
      { text: 'The project’s hooks.json is not used', detail: 'no JSON' },
      { type: 'error', cure: 'settings' },
    ]);
  });

  it('keeps the newest plan', () => {
    const plan = (status: string) => action({ tool_name: 'task_tracker', action: { kind: 'TaskTrackerAction', command: 'plan', task_list: [{ title: 'a', status }] } });
    const view = action({ tool_name: 'task_tracker', action: { kind: 'TaskTrackerAction', command: 'view', task_list: [] } });
    expect(append(empty, [plan('todo'), plan('done'), view]).plan).toEqual([{ title: 'a', notes: '', status: 'done' }]);
  });

  it('says that the call of the model is tried again', () => {
    const t = append(empty, [state('llm_retry', { attempt: 2, attempts: 5, detail: 'busy' })]);
    expect(t.retry).toEqual({ attempt: 2, attempts: 5, detail: 'busy' });
    expect(append(t, [message('assistant', 'x')]).retry).toBeNull();
  });
});

describe('prepend', () => {
  it('joins results with actions of the older window, and leaves the live state', () => {
    const [hello, call] = [message('user', 'hello'), action()];
    const old = [hello, state('execution_status', 'running'), call];
    const newest = append(empty, [observation(call), state('execution_status', 'finished')]);
    expect(newest.items).toMatchObject([{ type: 'result' }]);
    const whole = prepend(newest, old);
    expect(whole.items).toMatchObject([{ type: 'message' }, { type: 'action', outcome: { state: 'done' } }]);
    expect(whole.status).toBe('finished');
    expect(whole.cursor).toBe(newest.cursor);
  });

  it('drops events that are there', () => {
    const first = message('user', 'hello');
    const t = append(empty, [first]);
    expect(prepend(t, [first])).toBe(t);
  });
});

describe('a connection that breaks', () => {
  it('loses and doubles nothing, wherever it breaks', () => {
    const log: Event[] = [];
    for (let i = 0; i < 12; i++) {
      const call = action();
      log.push(call, observation(call), state('stats', {}), message('assistant', `m${i}`));
    }
    const whole = append(empty, log);
    for (let cut = 0; cut <= log.length; cut++) {
      const before = append(empty, log.slice(0, cut));
      // The server sends events again that are not older than the cursor.
      const again = log.filter((e) => before.cursor === null || e.timestamp >= before.cursor);
      const after = append(before, again);
      expect(after.items).toEqual(whole.items);
      expect(after.events).toEqual(whole.events);
    }
  });
});

describe('pending', () => {
  it('lists the actions of the batch that waits', () => {
    const [done, one, two] = [action(), action(), action()];
    const t = append(empty, [done, observation(done), one, two, state('execution_status', 'waiting_for_confirmation')]);
    expect(pending(t).map((i) => i.id)).toEqual([one.id, two.id]);
    expect(pending({ ...t, status: 'running' })).toEqual([]);
  });
});
