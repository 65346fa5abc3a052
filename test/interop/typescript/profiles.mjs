// LLM profiles, agent profiles, meta-profiles, and conversations from them.
import { assert, client, eventually, folder, group, keys, model, refused } from './cases.mjs';

const test = group('profiles', 'settings'); // activating a profile changes the settings

test('LLM profiles', async () => {
  const { profiles } = client();
  keys(await profiles.saveProfile('ts-one', { llm: model(), include_secrets: true }), 'name', 'message');
  const list = keys(await profiles.listProfiles(), 'profiles', 'active_profile');
  const mine = list.profiles.find((p) => p.name === 'ts-one');
  assert.deepEqual([mine.model, mine.api_key_set], ['openai/scripted', true]);
  const one = keys(await profiles.getProfile('ts-one'), 'name', 'config', 'api_key_set');
  assert.notEqual(one.config.api_key, 'key-of-the-llm');
  assert.match((await profiles.getProfile('ts-one', { exposeSecrets: 'encrypted' })).config.api_key, /^gAAAAA/);
  assert.equal((await profiles.getProfile('ts-one', { exposeSecrets: 'plaintext' })).config.api_key, 'key-of-the-llm');
  assert.equal((await profiles.renameProfile('ts-one', 'ts-two')).name, 'ts-two');
  keys(await refused(404, () => profiles.getProfile('ts-one')), 'detail');
  await refused(404, () => profiles.renameProfile('ts-one', 'ts-three'));
  const active = keys(await profiles.activateProfile('ts-two'), 'name', 'message', 'llm_applied');
  assert.equal(active.llm_applied, true);
  assert.equal((await profiles.listProfiles()).active_profile, 'ts-two');
  await refused(404, () => profiles.activateProfile('no-such-profile'));
  keys(await refused(422, () => profiles.saveProfile('.evil', { llm: model() })), 'detail');
  keys(await refused(422, () => profiles.saveProfile('ts-bad', { llm: 'none' })), 'detail');
});

test('validation', async () => {
  const { profiles } = client();
  assert.deepEqual(await profiles.validateProfile('ts-two', { llm: model(), include_secrets: true }), { valid: true, error: null });
  const bad = await profiles.validateProfile('ts-two', { llm: model({ base_url: 'http://127.0.0.1:9/nothing/v1', model: 'nonsense' }) });
  assert.equal(bad.valid, false);
  keys(bad.error, 'type', 'message');
});

test('by the settings client', async () => {
  const { settings } = client();
  keys(await settings.saveProfile('ts-settings', { llm: model(), include_secrets: false }), 'name');
  assert.equal((await settings.getProfile('ts-settings', { exposeSecrets: 'plaintext' })).api_key_set, false);
  assert.ok((await settings.listProfiles()).profiles.some((p) => p.name === 'ts-settings'));
  keys(await settings.renameProfile('ts-settings', 'ts-renamed'), 'name');
  await refused(409, () => settings.renameProfile('ts-renamed', 'ts-two'));
  keys(await settings.deleteProfile('ts-renamed'), 'name');
});

test('agent profiles', async () => {
  const { agentProfiles } = client();
  keys(await agentProfiles.saveAgentProfile('ts-agent', { agent_kind: 'openhands', llm_profile_ref: 'ts-two' }), 'name', 'message');
  const list = keys(await agentProfiles.listAgentProfiles(), 'profiles', 'active_agent_profile_id');
  assert.ok(list.profiles.some((p) => p.name === 'ts-agent'));
  const { profile } = await agentProfiles.getAgentProfile('ts-agent', { exposeSecrets: 'encrypted' });
  assert.deepEqual([profile.agent_kind, profile.llm_profile_ref], ['openhands', 'ts-two']);
  assert.equal((await agentProfiles.renameAgentProfile('ts-agent', 'ts-agent-2')).name, 'ts-agent-2');
  await refused(404, () => agentProfiles.getAgentProfile('ts-agent'));
  await refused(404, () => agentProfiles.renameAgentProfile('ts-agent', 'x'));
  const diagnosis = keys(await agentProfiles.materializeAgentProfile('ts-agent-2'), 'valid', 'errors', 'llm_profile_ref', 'llm_profile_resolved', 'dangling_mcp_server_refs');
  assert.equal(diagnosis.valid, true, JSON.stringify(diagnosis));
  await agentProfiles.saveAgentProfile('ts-dangling', { agent_kind: 'openhands', llm_profile_ref: 'no-such-profile' });
  assert.equal((await agentProfiles.materializeAgentProfile('ts-dangling')).valid, false);
  await refused(404, () => agentProfiles.materializeAgentProfile('no-such-agent'));
  const active = keys(await agentProfiles.activateAgentProfile(profile.id), 'id', 'message', 'agent_settings_applied');
  assert.equal(active.id, profile.id);
  await refused(404, () => agentProfiles.activateAgentProfile('7c1f6f3e-3b7c-4a9a-9b1a-0123456789ab'));
  await refused(422, () => agentProfiles.saveAgentProfile('ts-bad', { agent_kind: 'no-such-kind' }));
});

test('a conversation of an agent profile', async () => {
  const { agentProfiles, conversations: c } = client();
  const { profile } = await agentProfiles.getAgentProfile('ts-agent-2');
  const made = await c.createConversation({
    agent_profile_id: profile.id, workspace: { kind: 'LocalWorkspace', working_dir: folder() },
    initial_message: { role: 'user', content: [{ type: 'text', text: 'by profile' }], run: true },
  });
  await eventually('the end', () => c.getConversation(made.id), (i) => i.execution_status === 'finished');
  assert.equal((await c.getAgentFinalResponse(made.id)).response, 'You said: by profile');
  await refused(404, () => c.createConversation({ agent_profile_id: '7c1f6f3e-3b7c-4a9a-9b1a-0123456789ab', workspace: { kind: 'LocalWorkspace', working_dir: folder() } }));
});

test('rules of deleting', async () => {
  const { profiles, agentProfiles } = client();
  keys(await refused(409, () => profiles.deleteProfile('ts-two')), 'detail');
  for (const name of ['ts-agent-2', 'ts-dangling', 'never-there']) keys(await agentProfiles.deleteAgentProfile(name), 'name', 'message');
  // The server may have created an agent profile for the active LLM profile.
  await profiles.saveProfile('ts-kept', { llm: model() });
  await agentProfiles.saveAgentProfile('default', { agent_kind: 'openhands', llm_profile_ref: 'ts-kept' });
  keys(await profiles.deleteProfile('ts-two'), 'name', 'message');
  keys(await profiles.deleteProfile('never-there'), 'name');
  agentProfiles.close();
});

test('meta-profiles', async () => {
  const { metaProfiles, profiles } = client();
  for (const name of ['ts-cheap', 'ts-strong']) await profiles.saveProfile(name, { llm: model(), include_secrets: true });
  const config = { classifier_model: 'ts-cheap', default_model: 'ts-strong', classes: [{ description: 'simple', model: 'ts-cheap' }] };
  keys(await metaProfiles.saveMetaProfile('ts-meta', config), 'name', 'message');
  const list = keys(await metaProfiles.listMetaProfiles(), 'meta_profiles', 'active_meta_profile');
  assert.equal(list.meta_profiles.find((p) => p.name === 'ts-meta').num_classes, 1);
  assert.deepEqual((await metaProfiles.getMetaProfile('ts-meta')).config.classes, config.classes);
  keys(await metaProfiles.activateMetaProfile('ts-meta'), 'name', 'message');
  assert.equal((await metaProfiles.listMetaProfiles()).active_meta_profile, 'ts-meta');
  keys(await metaProfiles.deleteMetaProfile('ts-meta'), 'name', 'message');
  await refused(404, () => metaProfiles.getMetaProfile('ts-meta'));
  metaProfiles.close();
});
