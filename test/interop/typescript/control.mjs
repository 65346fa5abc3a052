// Operations on an existing conversation.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ConversationManager } from '@openhands/typescript-client';
import { assert, client, eventually, group, keys, model, setup, reaches, refused, start, text, turn } from './cases.mjs';

const test = group('control');
const unknownID = '7c1f6f3e-3b7c-4a9a-9b1a-0123456789ab';

test('run twice, pause, resume', async () => {
  const conversation = await start();
  const { conversations: c } = client();
  await conversation.sendMessage('sleep until paused');
  await conversation.run();
  await reaches(conversation, 'running');
  keys(await refused(409, () => conversation.run()), 'detail');
  await conversation.pause(); // waits for the end of the command
  writeFileSync(join(conversation.workspace.workingDir, 'go'), '');
  await reaches(conversation, 'paused');
  keys(await c.pauseConversation(conversation.id), 'success');
  keys(await c.runConversation(conversation.id), 'success');
  await reaches(conversation, 'finished');
  assert.equal(await conversation.getAgentFinalResponse(), 'I slept.');
});

test('interrupt kills the command', async () => {
  const conversation = await start();
  const { conversations: c } = client();
  await conversation.sendMessage('sleep until interrupted');
  await conversation.run();
  const file = join(conversation.workspace.workingDir, 'beat');
  const beat = () => existsSync(file) && readFileSync(file, 'utf8').trim();
  await eventually('the command', beat, Boolean);
  assert.deepEqual(await c.interruptConversation(conversation.id), { success: true });
  await reaches(conversation, 'paused', 'idle', 'finished');
  await eventually('its heart to stop', async () => {
    const before = beat();
    await new Promise((done) => setTimeout(done, 500));
    return before === beat();
  }, (still) => still);
});

test('interrupt stops the model', async () => {
  const conversation = await start();
  const { conversations: c } = client();
  await conversation.sendMessage('be slow');
  await conversation.run();
  await reaches(conversation, 'running');
  assert.deepEqual(await c.interruptConversation(conversation.id), { success: true });
  await reaches(conversation, 'paused', 'idle');
});

test('confirmation accepted', async () => {
  const conversation = await start();
  await conversation.setConfirmationPolicy({ kind: 'AlwaysConfirm' });
  await conversation.state.refresh();
  assert.equal((await conversation.state.getConfirmationPolicy()).kind, 'AlwaysConfirm');
  await conversation.sendMessage('delete after asking');
  await conversation.run();
  await reaches(conversation, 'waiting_for_confirmation');
  const file = join(conversation.workspace.workingDir, 'accepted');
  assert.equal(existsSync(file), false);
  await conversation.sendConfirmationResponse(true);
  await reaches(conversation, 'finished');
  assert.equal(readFileSync(file, 'utf8'), 'accepted\n');
});

test('confirmation rejected', async () => {
  const conversation = await start();
  const { conversations: c } = client();
  keys(await c.setConfirmationPolicy(conversation.id, { kind: 'AlwaysConfirm' }), 'success');
  await conversation.sendMessage('delete although refused');
  await conversation.run();
  await reaches(conversation, 'waiting_for_confirmation');
  keys(await c.respondToConfirmation(conversation.id, { accept: false, reason: 'too dangerous' }), 'success');
  await eventually('rejection', () => conversation.state.events.getEvents(), (all) => all.some((e) => e.kind === 'UserRejectObservation' && e.rejection_reason === 'too dangerous'));
  assert.equal(existsSync(join(conversation.workspace.workingDir, 'refused')), false);
  await refused(422, () => c.setConfirmationPolicy(conversation.id, { kind: 'NoSuchPolicy' }));
});

test('security analyzer', async () => {
  const conversation = await start();
  await conversation.setSecurityAnalyzer({ kind: 'LLMSecurityAnalyzer' });
  keys(await client().conversations.setSecurityAnalyzer(conversation.id, null), 'success');
});

test('secrets', async () => {
  const conversation = await start();
  const value = 'a-secret-value';
  await conversation.updateSecrets({ TOKEN: () => value });
  keys(await client().conversations.updateSecrets(conversation.id, { secrets: { OTHER: { kind: 'StaticSecret', value: 'x' } } }), 'success');
  assert.equal(await turn(conversation, 'tell the secret'), 'finished');
  const all = await conversation.state.events.getEvents();
  assert.ok(!JSON.stringify(all).includes(value), 'the value is in the events');
  const { observation } = all.find((e) => e.kind === 'ObservationEvent');
  const [hidden, length] = observation.content.map((c) => c.text).join('').split('\n');
  assert.deepEqual([hidden, length.trim()], ['[<secret-hidden>]', String(value.length)]);
});

test('ask, condense', async () => {
  const conversation = await start();
  const { conversations: c } = client();
  await turn(conversation, 'remember this');
  const count = await c.getEventCount(conversation.id);
  assert.match(await conversation.askAgent('what did I say?'), /what did I say\?/);
  keys(await c.askAgent(conversation.id, 'and now?'), 'response');
  assert.equal(await c.getEventCount(conversation.id), count);
  keys(await refused(409, () => conversation.condense()), 'detail'); // the agent has no condenser
});

test('condense with a condenser', async () => {
  const conversation = await start({ condenser: { kind: 'LLMSummarizingCondenser', llm: model({ usage_id: 'condenser' }), max_size: 100, keep_first: 2 } });
  for (const word of ['one', 'two', 'three']) await turn(conversation, word);
  keys(await client().conversations.condenseConversation(conversation.id), 'success');
  const events = await eventually('condensation', () => conversation.state.events.getEvents(), (all) => all.some((e) => e.kind === 'Condensation'));
  keys(events.find((e) => e.kind === 'Condensation'), 'forgotten_event_ids', 'summary');
});

test('switch the model', async () => {
  const conversation = await start();
  const c = client();
  const manager = new ConversationManager({ host: setup.server, apiKey: setup.key });
  await turn(conversation, 'which model');
  assert.equal(await conversation.getAgentFinalResponse(), 'I am scripted.');
  await conversation.switchLlm(model({ model: 'openai/second' }));
  await turn(conversation, 'which model');
  assert.equal(await conversation.getAgentFinalResponse(), 'I am second.');
  await c.conversations.switchLLM(conversation.id, model({ model: 'openai/third' }));
  await c.profiles.saveProfile('for-switching', { llm: model({ model: 'openai/fourth' }), include_secrets: true });
  await conversation.switchProfile('for-switching');
  await turn(conversation, 'which model');
  assert.equal(await conversation.getAgentFinalResponse(), 'I am fourth.');
  await c.conversations.switchProfile(conversation.id, 'for-switching');
  await manager.switchProfile(conversation.id, 'for-switching');
  await refused(404, () => conversation.switchProfile('no-such-profile'));
  await refused(400, () => conversation.switchAcpModel('x'));
  await refused(400, () => c.conversations.switchAcpModel(conversation.id, 'x'));
  await c.profiles.deleteProfile('for-switching');
});

test('fork', async () => {
  const conversation = await start();
  await turn(conversation, 'the trunk');
  const fork = await conversation.fork({ title: 'A branch' }, { includeSkills: false });
  assert.notEqual(fork.id, conversation.id);
  assert.equal(await turn(fork, 'the branch'), 'finished');
  const said = async (c) => (await c.state.events.getEvents()).filter((e) => e.kind === 'MessageEvent').map(text);
  assert.deepEqual(await said(conversation), ['the trunk', 'You said: the trunk']);
  assert.deepEqual(await said(fork), ['the trunk', 'You said: the trunk', 'the branch', 'You said: the branch']);
  const info = await client().conversations.forkConversation(conversation.id, {});
  keys(info, 'id', 'execution_status', 'forked_from_conversation_id');
  assert.equal(info.forked_from_conversation_id, conversation.id);
  await refused(404, () => client().conversations.forkConversation(unknownID));
});

test('navigate', async () => {
  const conversation = await start();
  const { conversations: c } = client();
  await turn(conversation, 'first way');
  const events = await conversation.state.events.getEvents();
  const first = events.find((e) => e.kind === 'MessageEvent');
  await turn(conversation, 'second way');
  await conversation.navigateTo(first.id);
  assert.equal((await c.getConversation(conversation.id)).leaf_event_id, first.id);
  assert.equal((await c.navigateConversation(conversation.id, { event_id: first.id })).id, conversation.id);
  await refused(404, () => conversation.navigateTo('no-such-event'));
  await conversation.navigateTo(null);
});

test('goal', async () => {
  const conversation = await start();
  const { conversations: c } = client();
  await refused(400, () => conversation.resumeGoal());
  await refused(400, () => conversation.startGoal('   '));
  await conversation.startGoal('be slow', 2);
  await eventually('the goal', () => conversation.state.events.getEvents(), (all) => all.some((e) => e.kind === 'ConversationStateUpdateEvent' && e.key === 'goal'));
  await refused(409, () => c.startGoal(conversation.id, { objective: 'another' }));
  await conversation.stopGoal();
  await conversation.stopGoal(); // it is not running any more
  keys(await c.stopGoal(conversation.id), 'success');
});

test('goal that is resumed', async () => {
  const { conversations: c } = client();
  const conversation = await start();
  keys(await c.startGoal(conversation.id, { objective: 'be slow', max_iterations: 1 }), 'success');
  await reaches(conversation, 'running');
  await c.stopGoal(conversation.id);
  await c.interruptConversation(conversation.id);
  await reaches(conversation, 'paused', 'idle', 'finished');
  keys(await c.resumeGoal(conversation.id), 'success');
  await c.stopGoal(conversation.id);
});
