// Skills, plugins, hooks, sub-agents and MCP servers.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { HttpError } from '@openhands/typescript-client';
import { assert, client, folder, group, keys, refused } from './cases.mjs';

const test = group('catalogues');

function write(path, content) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
}

const skill = (name) => `---\nname: ${name}\ndescription: Says how ${name} is done.\n---\n# ${name}\nDo it well.\n`;

test('skills of a project', async () => {
  const { skills } = client();
  const project = folder('project');
  write(join(project, '.agents/skills/knitting/SKILL.md'), skill('knitting'));
  write(join(project, 'AGENTS.md'), 'Always be kind.\n');
  const answer = keys(await skills.getSkills({ load_public: false, load_user: false, load_project: true, load_org: false, project_dir: project }), 'skills', 'sources');
  const names = answer.skills.map((s) => s.name);
  assert.ok(names.includes('knitting'), String(names));
  const found = answer.skills.find((s) => s.name === 'knitting');
  keys(found, 'type', 'content', 'triggers', 'source', 'description', 'is_agentskills_format');
  assert.equal(found.description, 'Says how knitting is done.');
  assert.deepEqual((await skills.getSkills({ load_public: false, load_user: false, load_project: false, load_org: false })).skills, []);
});

test('installed skills', async () => {
  const { skills } = client();
  const source = join(folder('source'), 'weaving');
  write(join(source, 'SKILL.md'), skill('weaving'));
  const made = keys(await skills.installSkill({ source }), 'name', 'enabled', 'source', 'install_path', 'installed_at');
  assert.deepEqual([made.name, made.enabled], ['weaving', true]);
  await refused(409, () => skills.installSkill({ source }));
  assert.ok((await skills.listInstalledSkills()).skills.some((s) => s.name === 'weaving'));
  assert.equal((await skills.getInstalledSkill('weaving')).name, 'weaving');
  assert.deepEqual(await skills.toggleSkill('weaving', false), { name: 'weaving', enabled: false });
  keys(await skills.refreshSkill('weaving'), 'message', 'skill');
  keys(await skills.uninstallSkill('weaving'), 'message');
  await refused(404, () => skills.getInstalledSkill('weaving'));
  await refused(404, () => skills.uninstallSkill('weaving'));
  await refused(404, () => skills.toggleSkill('weaving', true));
});

test('marketplaces', async () => {
  const { skills, plugins } = client();
  assert.ok(Array.isArray((await skills.getMarketplace()).skills));
  assert.ok(Array.isArray((await plugins.getPluginsMarketplace()).plugins));
  keys(await skills.syncSkills(), 'status', 'message');
});

test('plugins', async () => {
  const { plugins } = client();
  const source = join(folder('source'), 'looms');
  write(join(source, '.claude-plugin/plugin.json'), { name: 'looms', version: '1.2.3', description: 'Looms of all kinds.' });
  write(join(source, 'skills/shuttle/SKILL.md'), skill('shuttle'));
  const made = keys(await plugins.installPlugin({ source }), 'name', 'version', 'description', 'enabled', 'source', 'install_path');
  assert.deepEqual([made.name, made.version, made.enabled], ['looms', '1.2.3', true]);
  await refused(409, () => plugins.installPlugin({ source }));
  assert.ok((await plugins.listInstalledPlugins()).plugins.some((p) => p.name === 'looms'));
  assert.equal((await plugins.getInstalledPlugin('looms')).name, 'looms');
  assert.deepEqual(await plugins.setPluginEnabled('looms', false), { name: 'looms', enabled: false });
  keys(await plugins.refreshPlugin('looms'), 'message');
  keys(await plugins.uninstallPlugin('looms'), 'message');
  await refused(404, () => plugins.getInstalledPlugin('looms'));
  assert.ok(Array.isArray((await plugins.getPlugins({ load_user: true, load_project: true, project_dir: folder() })).plugins));
  plugins.close();
});

test('hooks', async () => {
  const { hooks } = client();
  const project = folder('project');
  assert.deepEqual(await hooks.loadHooks({ project_dir: project }), { hook_config: null });
  write(join(project, '.openhands/hooks.json'), { pre_tool_use: [{ matcher: 'terminal', hooks: [{ type: 'command', command: 'true' }] }] });
  const { hook_config: config } = await hooks.loadHooks({ project_dir: project });
  assert.equal(config.pre_tool_use[0].matcher, 'terminal');
  hooks.close();
});

test('sub-agents', async () => {
  const { subAgents } = client();
  const project = folder('project');
  write(join(project, '.agents/agents/weaver.md'), '---\nname: weaver\ndescription: Weaves.\ntools: [terminal]\n---\nYou weave.\n');
  const { agents } = await subAgents.getSubAgents({ load_user: false, load_project: true, load_builtin: true, project_dir: project });
  const weaver = agents.find((a) => a.name === 'weaver');
  assert.ok(weaver, agents.map((a) => a.name).join());
  assert.deepEqual([weaver.description, weaver.tools, weaver.level], ['Weaves.', ['terminal'], 'project']);
  assert.ok(agents.some((a) => a.is_builtin));
});

test('test of an MCP server', async () => {
  const { mcp } = client();
  const server = { transport: 'stdio', command: process.execPath, args: [fileURLToPath(new URL('mcpserver.mjs', import.meta.url))] };
  const good = await mcp.testServer({ name: 'adder', server, timeout: 15, tool_call: { name: 'add', arguments: { a: 2, b: 40 } } });
  assert.equal(good.ok, true, JSON.stringify(good));
  assert.deepEqual(good.tools.map((t) => t.name ?? t), ['add']);
  assert.match(JSON.stringify(good.tool_result), /42/);
  const bad = keys(await mcp.testServer({ name: 'absent', server: { transport: 'stdio', command: '/no/such/program' }, timeout: 5 }), 'ok', 'error', 'error_kind');
  assert.equal(bad.ok, false);
  await refused(422, () => mcp.testServer({ name: 'x', server: { transport: 'carrier pigeon' } }));
});

test('OAuth of an MCP server', async () => {
  const { mcp } = client();
  // Unknown jobs are 404; starting one needs a server with OAuth.
  for (const call of [() => mcp.getOAuthStatus('no-such-job'), () => mcp.submitOAuthCallback('no-such-job', { callback_url: 'http://localhost/?code=x&state=y' })]) {
    await refused(404, call);
  }
  await mcp.startOAuth({ name: 'x', server: { transport: 'http', url: 'http://127.0.0.1:9/mcp' }, timeout: 2 }).then(
    (answer) => keys(answer, 'ok'), (e) => assert.ok(e instanceof HttpError && e.status < 500, e.message));
  mcp.close();
});
