// The lifecycle of conversations through the client's classes.
import { Agent, ConversationManager, LLM, RemoteConversation } from '@openhands/typescript-client';
import { agent, assert, client, eventually, folder, group, keys, model, setup, reaches, refused, start, text, turn, workspace } from './cases.mjs';

const test = group('conversations');
const unknownID = '7c1f6f3e-3b7c-4a9a-9b1a-0123456789ab';
const manager = () => new ConversationManager({ host: setup.server, apiKey: setup.key });

test('start, send, run', async () => {
  const conversation = await start();
  assert.match(conversation.id, /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/);
  assert.equal(await conversation.state.getExecutionStatus(), 'idle');
  assert.equal(await turn(conversation, 'hello'), 'finished');
  assert.equal(await conversation.getAgentFinalResponse(), 'You said: hello');
  const stats = await conversation.conversationStats();
  assert.ok(stats.usage_to_metrics.agent.accumulated_token_usage.prompt_tokens > 0, JSON.stringify(stats));
  const messages = (await conversation.state.events.getEvents()).filter((e) => e.kind === 'MessageEvent').map(text);
  assert.deepEqual(messages, ['hello', 'You said: hello']);
  await conversation.close();
});

test('tools', async () => {
  const conversation = await start();
  assert.equal(await turn(conversation, 'use the terminal'), 'finished');
  const events = await conversation.state.events.getEvents();
  const action = events.find((e) => e.kind === 'ActionEvent');
  const seen = events.find((e) => e.kind === 'ObservationEvent');
  keys(action, 'id', 'timestamp', 'thought', 'tool_call', 'tool_call_id', 'llm_response_id', 'security_risk');
  assert.deepEqual([action.tool_name, action.action.kind, action.action.command], ['terminal', 'TerminalAction', 'echo from-the-terminal']);
  assert.deepEqual([seen.action_id, seen.tool_call_id, seen.observation.kind], [action.id, action.tool_call_id, 'TerminalObservation']);
  assert.match(JSON.stringify(seen.observation.content), /from-the-terminal/);
  assert.equal(await conversation.getAgentFinalResponse(), 'The terminal has spoken.');
});

test('state', async () => {
  const conversation = await start();
  const { state } = conversation;
  assert.equal((await state.getConfirmationPolicy()).kind, 'NeverConfirm');
  assert.deepEqual(await state.getActivatedKnowledgeSkills(), []);
  assert.equal((await state.getAgent()).llm.model, 'openai/scripted');
  assert.notEqual((await state.getAgent()).llm.api_key, 'key-of-the-llm');
  assert.equal((await state.getWorkspace()).working_dir, conversation.workspace.workingDir);
  assert.equal(typeof (await state.getPersistenceDir()), 'string');
  assert.equal(await state.getAgentStatus(), 'idle');
  await assert.rejects(() => state.setAgentStatus('paused'));
  keys(await state.modelDump(), 'id', 'created_at', 'updated_at', 'max_iterations', 'stuck_detection', 'stats', 'tags', 'hook_config');
  keys(JSON.parse(await state.modelDumpJson()), 'id');
  assert.equal(await conversation.getHookConfig(), null);
  assert.equal(await conversation.loadHooks(), null);
  assert.equal(await conversation.loadHooks('/no/such/directory'), null);
});

test('initial message', async () => {
  const conversation = new RemoteConversation(new Agent(agent()), workspace());
  await conversation.start({ initialMessage: 'at first', maxIterations: 5, userId: 'of-a-user' });
  await reaches(conversation, 'finished'); // the initial message starts a run
  assert.equal(await conversation.getAgentFinalResponse(), 'You said: at first');
});

test('title and tags', async () => {
  const conversation = await start();
  await conversation.setTitle('A title');
  await manager().updateConversation(conversation.id, { tags: { project: 'p1' } });
  const info = await manager().getConversation(conversation.id);
  assert.deepEqual([info.title, info.tags], ['A title', { project: 'p1' }]);
  const found = await client().conversations.searchConversations({ tag: 'project=p1' }).catch(() => null);
  if (found) assert.ok(found.items.some((c) => c.id === conversation.id));
});

test('search, count, several at once', async () => {
  const m = manager();
  const made = await m.createConversation(agent(), { workingDir: folder(), initialMessage: 'to be found' });
  const page = keys(await m.searchConversations({ limit: 1 }), 'items', 'next_page_id');
  assert.equal(page.items.length, 1);
  keys(page.items[0], 'id', 'execution_status', 'created_at', 'updated_at', 'agent', 'workspace', 'title');
  assert.ok((await m.countConversations()) >= 1);
  assert.equal(await m.countConversations({ status: 'waiting_for_confirmation' }) >= 0, true);
  await refused(422, () => m.searchConversations({ limit: 0 }));
  await refused(422, () => m.countConversations({ status: 'no-such-status' }));
  assert.ok((await m.getAllConversations()).some((c) => c.id === made.id));
  const [known, unknown] = await m.getConversations([made.id, unknownID]);
  assert.deepEqual([known.id, unknown], [made.id, null]);
  const loaded = await m.loadConversation(made.id);
  assert.equal(loaded.id, made.id);
  await refused(404, () => m.loadConversation(unknownID));
  await m.deleteConversation(made.id);
  await refused(404, () => m.getConversation(made.id));
});

test('for the ACP part of the manager', async () => {
  const m = manager();
  const made = await m.acp.createConversation(agent(), { workingDir: folder() });
  assert.equal((await m.acp.getConversation(made.id)).id, made.id);
  assert.equal((await m.acp.getConversations([made.id]))[0].id, made.id);
  assert.ok((await m.acp.countConversations()) >= 1);
  assert.ok((await m.acp.searchConversations({ limit: 1 })).items.length === 1);
  assert.ok((await m.acp.getAllConversations()).some((c) => c.id === made.id));
});

test('conversation client', async () => {
  const { conversations: c } = client();
  const id = 'a2b3c4d5-0000-4000-8000-' + Date.now().toString(16).padStart(12, '0');
  const request = { agent: agent(), workspace: { kind: 'LocalWorkspace', working_dir: folder() }, conversation_id: id };
  assert.equal((await c.createConversation(request)).id, id);
  assert.equal((await c.createConversation(request)).id, id);
  assert.equal((await c.getConversation(id)).id, id);
  assert.equal((await c.getConversations([id, unknownID]))[1], null);
  assert.ok((await c.countConversations()) > 0);
  await c.sendEvent(id, { role: 'user', content: [{ type: 'text', text: 'run at once' }] }, { run: true });
  await eventually('the end', () => c.getConversation(id), (i) => i.execution_status === 'finished');
  assert.equal((await c.getAgentFinalResponse(id)).response, 'You said: run at once');
  assert.ok((await c.getEventCount(id)) >= 3);
  const { items } = await c.searchEvents(id, { limit: 100 });
  assert.equal((await c.getEvents(id, [items[0].id]))[0].id, items[0].id);
  assert.equal((await c.getEvent(id, items[1].id)).timestamp, items[1].timestamp);
  await c.updateConversation(id, { title: 'Mine' });
  assert.equal((await c.getConversation(id)).title, 'Mine');
  await c.deleteConversation(id);
  await refused(404, () => c.getConversation(id));
  await refused(404, () => c.deleteConversation(id));
  c.close();
});

test('from settings', async () => {
  const { conversations: c } = client();
  const made = await c.createConversation({
    agent_settings: { llm: model(), tools: [{ name: 'terminal' }] },
    workspace: { kind: 'LocalWorkspace', working_dir: folder() },
    initial_message: { role: 'user', content: [{ type: 'text', text: 'by settings' }], run: true },
  });
  await eventually('the end', () => c.getConversation(made.id), (i) => i.execution_status === 'finished');
  assert.equal((await c.getAgentFinalResponse(made.id)).response, 'You said: by settings');
});

test('bad requests', async () => {
  const { conversations: c } = client();
  const local = { kind: 'LocalWorkspace', working_dir: folder() };
  const made = await c.createConversation({ agent: agent(), workspace: local });
  for (const bad of [{}, { workspace: local }, { agent: agent() }, { agent: { ...agent(), kind: 'NoSuchAgent' }, workspace: local },
    { agent: agent(), workspace: local, max_iterations: 0 }, { agent: agent(), workspace: local, conversation_id: 'not-a-uuid' }]) {
    keys(await refused(422, () => c.createConversation(bad)), 'detail');
  }
  await refused(422, () => c.sendEvent(made.id, { role: 'wizard', content: [] }));
  await refused(422, () => c.getConversation('not-a-uuid'));
  await refused(404, () => c.runConversation(unknownID));
  await refused(404, () => c.searchEvents(unknownID));
  await refused(404, () => c.sendEvent(unknownID, { role: 'user', content: [{ type: 'text', text: 'x' }] }));
});
