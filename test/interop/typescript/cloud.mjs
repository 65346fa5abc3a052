// Calls `deft serve` as OpenHands' cloud through CloudClient, and prints a line of JSON for
// each case: name, ok, seconds, error. The cases run one after the other.
import assert from 'node:assert/strict';
import { HttpError } from '@openhands/typescript-client';
import { CloudClient } from '@openhands/typescript-client/clients';

const setup = JSON.parse(process.env.DEFT_INTEROP); // {link, llm}
const [, host, code] = /^(http:\/\/[^/]+)\/#login=(.+)$/.exec(setup.link);

// What the cloud has and this server does not, or not by these paths: organisations,
// automations, the sign-on of devices and the proxy of a local agent server. Repositories
// need a Git host.
const excluded = /^(getOrganizations|getOrganizationMe|.*Automation.*|startDeviceFlow|pollForToken|requestThroughProxy|searchRepositories|getInstallations|getRepositoryBranches|getSuggestedTasks)$/;

const called = new Map();
for (const [name, is] of Object.entries(Object.getOwnPropertyDescriptors(CloudClient.prototype))) {
  if (name === 'constructor' || typeof is.value !== 'function' || excluded.test(name)) continue;
  called.set(name, false);
  CloudClient.prototype[name] = function (...args) {
    called.set(name, true);
    return is.value.apply(this, args);
  };
}

async function plain(path, body, cookie) {
  const r = await fetch(host + path, { method: 'POST', body: JSON.stringify(body), headers: { 'Content-Type': 'application/json', ...(cookie && { Cookie: cookie }) } });
  assert.ok(r.ok, `${path}: ${r.status}`);
  return r;
}

const login = await plain('/api/v1/login', { code });
const cookie = login.headers.getSetCookie().map((c) => c.split(';')[0]).join('; ');
const { key } = await (await plain('/api/keys', { name: 'interop' }, cookie)).json();
const cloud = new CloudClient({ host, apiKey: key });

async function refused(status, call) {
  try {
    await call();
  } catch (e) {
    if (!(e instanceof HttpError)) throw e;
    assert.equal(e.status, status, e.message);
    return;
  }
  assert.fail(`the call did not fail with ${status}`);
}

async function test(name, run) {
  const start = performance.now();
  let error = '';
  try {
    await run();
  } catch (e) {
    error = String(e.stack ?? e);
  }
  console.log(JSON.stringify({ name, ok: !error, seconds: Math.round(performance.now() - start) / 1000, error }));
}

// until asks again until the answer has something; the runner bounds how long.
async function until(ask, has) {
  for (;;) {
    const got = await ask();
    if (has(got)) return got;
    await new Promise((done) => setTimeout(done, 20));
  }
}

await test('keys', async () => {
  assert.equal((await cloud.getCurrentApiKey()).name, 'interop');
  for (const apiKey of ['wrong', undefined]) await refused(401, () => new CloudClient({ host, apiKey }).getSettings());
});

await test('settings', async () => {
  await cloud.saveSettings({
    agent_settings_diff: { agent_context: null, llm: { model: 'openai/scripted', api_key: 'sk-of-the-user', base_url: `${setup.llm}/v1` } },
    conversation_settings_diff: { max_iterations: 7 }, app_preferences: { language: 'de' },
  });
  const got = await cloud.getSettingsWithDerivedFields();
  assert.equal(got.agent_settings.llm.model, 'openai/scripted');
  assert.equal(got.conversation_settings.max_iterations, 7);
  assert.equal(got.language, 'de');
  assert.equal(got.llm_api_key_set, true);
  assert.ok(!JSON.stringify(got).includes('sk-of-the-user'));
  for (const schema of [await cloud.getSettingsSchema(), await cloud.getConversationSettingsSchema()]) assert.ok(schema.sections.length > 0);
});

await test('profiles', async () => {
  await cloud.saveProfile('first', { llm: { model: 'openai/scripted', api_key: 'sk-1', base_url: `${setup.llm}/v1` } });
  await cloud.renameProfile('first', 'second');
  const got = await cloud.getProfile('second');
  assert.equal(got.config.model, 'openai/scripted');
  assert.equal(got.api_key_set, true);
  assert.deepEqual((await cloud.listProfiles()).profiles.map((p) => p.name), ['second']);
  assert.equal((await cloud.activateProfile('second')).llm_applied, true);
  await cloud.saveProfile('third', { llm: { model: 'openai/other' } });
  await cloud.deleteProfile('third');
  await refused(404, () => cloud.getProfile('third'));
});

await test('secrets', async () => {
  await cloud.createSecret('WORD', 'moonlight', 'a word');
  await cloud.updateSecret('WORD', 'WORD_2', 'another');
  const list = await cloud.listSecrets();
  assert.deepEqual(list.map((s) => [s.name, s.description, s.value]), [['WORD_2', 'another', undefined]]);
  await cloud.deleteSecret('WORD_2');
  assert.deepEqual(await cloud.listSecrets(), []);
});

await test('catalogues', async () => {
  assert.ok(Array.isArray(await cloud.listSkills()));
  assert.ok((await cloud.searchModels({ limit: 5 })).items.length === 5);
  assert.ok((await cloud.searchProviders({ query: 'openai' })).items.length > 0);
});

await test('conversations', async () => {
  const task = await cloud.createConversation({
    initial_message: { role: 'user', content: [{ type: 'text', text: 'use the terminal' }] }, title: 'Of the cloud',
  });
  const ready = await until(() => cloud.getConversationStartTask(task.id), (t) => ['READY', 'ERROR'].includes(t.status));
  assert.equal(ready.status, 'READY', ready.detail);
  const id = ready.app_conversation_id;
  const done = await until(async () => (await cloud.getConversations([id]))[0], (c) => c.execution_status === 'finished');
  assert.equal(done.title, 'Of the cloud');
  assert.deepEqual((await cloud.searchConversations(5)).items.map((c) => c.id), [id]);
  assert.equal((await cloud.updateConversationPublicFlag(id, true)).public, true);
  await cloud.switchConversationProfile(id, 'second');
  await refused(404, () => cloud.switchConversationProfile(id, 'none'));
  await refused(400, () => cloud.switchConversationAcpModel(id, 'x'));
  // The cloud answers with a JSON string, which the client returns as it came.
  assert.match(JSON.parse(await cloud.readConversationFile(id, '/workspace/project/.git/HEAD')), /^ref: /);
  const zip = new Uint8Array(await (await cloud.downloadConversation(id)).arrayBuffer());
  assert.deepEqual([...zip.slice(0, 2)], [0x50, 0x4b]);
  await cloud.pauseSandbox(done.sandbox_id);
  assert.equal((await cloud.getSandboxes([done.sandbox_id]))[0].status, 'PAUSED');
  await cloud.resumeSandbox(done.sandbox_id);
  assert.equal((await cloud.getSandboxes([done.sandbox_id]))[0].status, 'RUNNING');
  await cloud.deleteConversation(id);
  assert.deepEqual(await cloud.getConversations([id]), [null]);
  await refused(404, () => cloud.downloadConversation(id));
});

await test('every call', () => {
  const left = [...called].filter(([, yes]) => !yes).map(([name]) => name);
  assert.deepEqual(left, []);
});
process.exit(0);
