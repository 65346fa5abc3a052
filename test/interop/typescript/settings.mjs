// Settings, secrets and MCP servers of the settings, workspaces.
import { assert, client, folder, group, keys, refused } from './cases.mjs';

const test = group('settings');

test('schemas', async () => {
  const { settings } = client();
  for (const schema of [await settings.getAgentSchema(), await settings.getConversationSchema()]) {
    keys(schema, 'model_name', 'sections');
    assert.ok(schema.sections.length > 0);
    for (const section of schema.sections) {
      keys(section, 'key', 'label', 'fields');
      for (const field of section.fields) keys(field, 'key', 'label', 'value_type');
    }
  }
});

test('get and change', async () => {
  const { settings } = client();
  const before = keys(await settings.getSettings(), 'agent_settings', 'conversation_settings', 'misc_settings', 'llm_api_key_is_set', 'active_profile', 'active_agent_profile_id');
  keys(before.agent_settings, 'llm', 'condenser', 'verification', 'mcp_config');
  const after = await settings.updateSettings({
    agent_settings_diff: { llm: { model: 'openai/of-settings', api_key: 'sk-secret-of-settings' } },
    conversation_settings_diff: { max_iterations: 77 },
    misc_settings_diff: { app_preferences: { language: 'de' } },
  });
  assert.equal(after.agent_settings.llm.model, 'openai/of-settings');
  assert.equal(after.conversation_settings.max_iterations, 77);
  assert.equal(after.misc_settings.app_preferences.language, 'de');
  assert.equal(after.llm_api_key_is_set, true);
  const key = async (mode) => (await settings.getSettings({ exposeSecrets: mode })).agent_settings.llm.api_key;
  assert.notEqual(await key(), 'sk-secret-of-settings');
  assert.equal(await key('plaintext'), 'sk-secret-of-settings');
  assert.match(await key('encrypted'), /^gAAAAA/);
  await refused(422, () => settings.updateSettings({ conversation_settings_diff: { max_iterations: 'many' } }));
  assert.equal((await settings.getSettings()).conversation_settings.max_iterations, 77);
});

test('secrets', async () => {
  const { settings } = client();
  assert.deepEqual(await settings.upsertSecret({ name: 'TS_TOKEN', value: 'the value', description: 'for tests' }), { name: 'TS_TOKEN', description: 'for tests' });
  assert.deepEqual((await settings.listSecrets()).secrets.filter((s) => s.name === 'TS_TOKEN'), [{ name: 'TS_TOKEN', description: 'for tests' }]);
  assert.equal(await settings.getSecret('TS_TOKEN'), 'the value');
  await settings.upsertSecret({ name: 'TS_TOKEN', value: 'another' });
  assert.equal(await settings.getSecret('TS_TOKEN'), 'another');
  assert.deepEqual(await settings.deleteSecret('TS_TOKEN'), { deleted: true });
  await refused(404, () => settings.getSecret('TS_TOKEN'));
  await refused(404, () => settings.deleteSecret('TS_TOKEN'));
  await refused(422, () => settings.upsertSecret({ name: 'no spaces allowed', value: 'x' }));
});

test('MCP servers', async () => {
  const { settings } = client();
  const made = await settings.createMcpServer('adder', { transport: 'stdio', command: 'node', args: ['a.mjs'], env: { TOKEN: 'secret-of-env' } });
  assert.equal(made.agent_settings.mcp_config.adder.command, 'node');
  assert.ok(!JSON.stringify(made).includes('secret-of-env'));
  await refused(409, () => settings.createMcpServer('adder', { transport: 'stdio', command: 'node' }));
  const changed = await settings.patchMcpServer('adder', { args: ['b.mjs'] });
  assert.deepEqual(changed.agent_settings.mcp_config.adder.args, ['b.mjs']);
  await refused(404, () => settings.patchMcpServer('absent', { args: [] }));
  const left = await settings.deleteMcpServer('adder');
  assert.ok(!('adder' in (left.agent_settings.mcp_config ?? {})));
  await refused(404, () => settings.deleteMcpServer('adder'));
});

test('workspaces', async () => {
  const { workspaces } = client();
  keys(await workspaces.listWorkspaces(), 'workspaces', 'workspaceParents');
  const path = folder('listed'), parent = folder('parent');
  const one = await workspaces.addWorkspaces([{ id: path, name: 'listed', path }]);
  assert.deepEqual(one.workspaces.filter((w) => w.path === path).map((w) => w.name), ['listed']);
  const two = await workspaces.addWorkspaceParents([{ id: parent, name: 'parent', path: parent }]);
  assert.ok(two.workspaceParents.some((w) => w.path === parent));
  assert.deepEqual(await workspaces.deleteWorkspace(path), { deleted: true });
  assert.deepEqual(await workspaces.deleteWorkspaceParent(parent), { deleted: true });
  const rest = await workspaces.listWorkspaces();
  assert.ok(![...rest.workspaces, ...rest.workspaceParents].some((w) => w.path === path || w.path === parent));
  workspaces.close();
});
