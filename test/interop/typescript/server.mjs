// Information about the server, and refused keys.
import { ConversationManager, HttpClient, HttpError, compareAgentServerVersions } from '@openhands/typescript-client';
import { AgentServerClient, ServerClient } from '@openhands/typescript-client/clients';
import { assert, client, group, keys, setup, refused } from './cases.mjs';

const test = group('server');

test('health', async () => {
  const { server } = client();
  assert.deepEqual(await server.getAlive(), { status: 'ok' });
  assert.deepEqual(await server.getHealth(), { status: 'ok' });
  keys(await server.getReady(), 'status');
});

test('information', async () => {
  const { server } = client();
  const info = keys(await server.getServerInfo(), 'version', 'sdk_version', 'uptime', 'idle_time', 'usable_tools', 'capabilities', 'title');
  for (const oldest of ['1.23.0', '1.28.0', '1.31.0']) assert.ok(compareAgentServerVersions(info.version, oldest) >= 0, info.version);
  assert.ok(info.usable_tools.includes('terminal') && info.usable_tools.includes('file_editor'));
  assert.deepEqual(Object.keys(await server.getRoot()).sort(), Object.keys(info).sort());
  server.close();
});

test('keys', async () => {
  for (const apiKey of ['of-another-server', undefined]) {
    const stranger = new AgentServerClient({ host: setup.server, apiKey });
    for (const call of [
      () => stranger.conversations.searchConversations(),
      () => stranger.settings.getSettings(),
      () => stranger.bash.executeCommand('id'),
      () => stranger.files.downloadFile('/etc/hostname'),
    ]) keys(await refused(401, call), 'detail');
    keys(await new ServerClient({ host: setup.server, apiKey }).getServerInfo(), 'version');
  }
});

test('plain requests', async () => {
  const c = client();
  keys(await c.get('/server_info'), 'version');
  assert.equal(await c.request({ method: 'GET', path: '/api/conversations/count', authMode: 'session-api-key', sessionApiKey: setup.key }) >= 0, true);
  await refused(401, () => c.request({ method: 'GET', path: '/api/conversations/count', authMode: 'none' }));
  await refused(404, () => c.get('/api/no-such-thing'));
  await refused(405, () => c.put('/api/conversations/count', {}));
  keys(await refused(422, () => c.post('/api/conversations', { agent: 7 })), 'detail');
  await refused(422, () => c.patch('/api/settings', { agent_settings_diff: 7 }));
  await refused(404, () => c.delete('/api/bash/no-such-thing'));
  const raw = await new HttpClient({ baseUrl: setup.server, apiKey: setup.key }).get('/health');
  assert.equal(raw.status, 200);
  c.close();
});

test('tools, vscode, desktop', async () => {
  const c = client();
  const tools = await c.tools.listTools();
  for (const name of ['terminal', 'file_editor', 'task_tracker']) assert.ok(tools.includes(name), String(tools));
  keys(await c.vscode.getStatus(), 'enabled', 'running');
  await refused(503, () => c.vscode.getUrl({ baseUrl: 'http://localhost:8001', workspaceDir: '/tmp' })); // switched off
  await refused(404, () => c.desktop.getUrl('http://localhost:8002'));
  await refused(404, () => c.shared.getSharedConversations(['7c1f6f3e-3b7c-4a9a-9b1a-0123456789ab']));
  await refused(404, () => c.shared.getSharedConversation('7c1f6f3e-3b7c-4a9a-9b1a-0123456789ab'));
  await refused(404, () => c.shared.searchSharedEvents({ conversationId: '7c1f6f3e-3b7c-4a9a-9b1a-0123456789ab' }));
  for (const part of Object.values(c)) part?.close?.();
});

test('models', async () => {
  const { llm } = client();
  const providers = await llm.getProviders();
  assert.ok(providers.includes('openai') && providers.includes('anthropic'), `${providers.length} providers`);
  assert.ok((await llm.getModels()).length > 10);
  assert.ok((await llm.getModels('openai')).length > 1);
  assert.ok((await llm.getModels('no-such-provider')).length === 0);
  const verified = await llm.getVerifiedModels();
  assert.ok(Array.isArray(verified.openai) && verified.openai.length > 0);
});

test('subscription', async () => {
  const { llm } = client();
  assert.ok(Array.isArray(await llm.getOpenAISubscriptionModels()));
  const status = keys(await llm.getOpenAISubscriptionStatus(), 'vendor', 'connected', 'account_email', 'expires_at');
  assert.equal(status.connected, false);
  keys(await llm.logoutOpenAISubscription(), 'vendor', 'connected');
  for (const call of [() => llm.startOpenAISubscriptionDeviceLogin(), () => llm.pollOpenAISubscriptionDeviceLogin('no-such-code')]) {
    await assert.rejects(call, HttpError); // it needs the Internet
  }
});

test('manager', async () => {
  const manager = new ConversationManager({ host: `${setup.server}/`, apiKey: setup.key });
  keys(await manager.server.getServerInfo(), 'version');
  assert.ok(Array.isArray(await manager.tools.listTools()));
  manager.close();
});
