// Shared by all cases: their registry, objects of the client, and assertions on
// its answers.
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { HttpError, RemoteConversation, RemoteWorkspace } from '@openhands/typescript-client';
import { AgentServerClient } from '@openhands/typescript-client/clients';

export const setup = JSON.parse(process.env.DEFT_INTEROP); // {server, key, llm, dir}

export const groups = new Map();

// group collects cases that run one after the other, after the earlier cases of the
// same queue. Queues run in parallel.
export function group(name, queue = name) {
  const list = groups.get(queue) ?? [];
  groups.set(queue, list);
  return (title, run) => list.push({ name: `${name}/${title}`, run });
}

export const client = () => new AgentServerClient({ host: setup.server, apiKey: setup.key });

let folders = 0;

// folder creates an empty directory for a case.
export function folder(name = 'work') {
  const dir = join(setup.dir, `${name}-${++folders}`);
  mkdirSync(dir, { recursive: true });
  return dir;
}

export const model = (more = {}) => ({
  model: 'openai/scripted', base_url: `${setup.llm}/v1`, api_key: 'key-of-the-llm', usage_id: 'agent',
  num_retries: 0, reasoning_effort: 'none', ...more,
});

export const agent = (more = {}) => ({
  kind: 'Agent', llm: model(), tools: [{ name: 'terminal' }, { name: 'file_editor' }], ...more,
});

export const workspace = (dir = folder()) =>
  new RemoteWorkspace({ host: setup.server, workingDir: dir, apiKey: setup.key });

// start creates a conversation with the client's class.
export async function start(more = {}, options = {}) {
  const conversation = new RemoteConversation(agent(more), workspace(), options);
  await conversation.start({ maxIterations: 20 });
  return conversation;
}

// refused expects the call to fail with the status and returns the body.
export async function refused(status, call) {
  try {
    await call();
  } catch (e) {
    if (!(e instanceof HttpError)) throw e;
    assert.equal(e.status, status, e.message);
    return e.response;
  }
  assert.fail(`the call did not fail with ${status}`);
}

// keys expects an object with at least these keys.
export function keys(object, ...wanted) {
  assert.ok(object && typeof object === 'object', `${object} is not an object`);
  for (const k of wanted) assert.ok(k in object, `${k} is missing among ${Object.keys(object)}`);
  return object;
}

const pause = (ms) => new Promise((done) => setTimeout(done, ms));

// eventually polls until the answer is accepted, and returns it.
export async function eventually(what, ask, accepted, seconds = 180) {
  const end = Date.now() + seconds * 1000;
  for (;;) {
    const answer = await ask();
    if (accepted(answer)) return answer;
    if (Date.now() > end) assert.fail(`${what}: still ${JSON.stringify(answer)?.slice(0, 500)}`);
    await pause(20);
  }
}

// reaches waits until the conversation has one of these statuses.
export const reaches = (conversation, ...states) =>
  eventually(`conversation to be ${states}`, async () => {
    await conversation.state.refresh();
    return conversation.state.getExecutionStatus();
  }, (s) => states.includes(s));

// turn sends a message, runs the agent and waits for the end of the run.
export async function turn(conversation, text) {
  await conversation.sendMessage(text);
  await conversation.run();
  return reaches(conversation, 'finished', 'error', 'stuck');
}

export const text = (event) => (event.llm_message?.content ?? []).map((c) => c.text ?? '').join('');

export { assert };
