// The settings pages and their effects.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { assert, page, panel, said, send, setup, shows, t, test } from './page.mjs';
import { confirmation, model, secrets, visit } from './steps.mjs';

secrets();

test('pages that are drawn from schemas', async () => {
  await visit('/settings/condenser', 'condenser-settings-screen');
  await t('sdk-section-all-toggle').click();
  await t('save-button').waitFor();
  await visit('/settings/agent-context', 'agent-context-settings-screen');
  await visit('/settings/app', 'app-settings-screen');
  await visit('/settings/agents', 'agent-profile-row');
});

test('a second model', async () => {
  await visit('/settings/llm', 'add-llm-profile');
  await t('add-llm-profile').click();
  await t('profile-name-input').fill('second');
  await model('second');
  await t('save-profile-btn').click();
  await t('profile-row').filter({ hasText: 'second' }).waitFor();
});

test('a conversation changes its model', async () => {
  await t('conversation-card').filter({ hasText: 'A better title' }).click();
  await t('chat-input-llm-profile').click();
  await t('chat-input-llm-profile-option-second').click();
  await send('which model');
  await said('I am second.');
});

confirmation(async () => {
  await panel('files');
  await t('files-tab-refresh').click();
});

// listed visits the skills and returns whether the list of them was answered.
async function listed() {
  const asked = (r) => r.url().endsWith('/api/skills') && r.request().method() === 'POST';
  const answer = page.waitForResponse(asked, { timeout: 90_000 }).then((r) => r.ok(), () => false);
  await visit('/skills', 'sidebar-extensions-/skills');
  return answer;
}

test('skills and plugins', async () => {
  const skill = join(setup.home, '.agents/skills/weaving/SKILL.md');
  mkdirSync(dirname(skill), { recursive: true });
  writeFileSync(skill, '---\nname: weaving\ndescription: Says how weaving is done.\n---\nDo it well.\n');
  // The page takes a list that it could not fetch for an empty one, and keeps it for ten
  // minutes: so when its own server loses the request, only another visit shows the skills.
  if (!(await listed()) && !(await listed())) throw new Error('the page got no list of skills, twice');
  await shows('Says how weaving is done.');
  await visit('/plugins', 'sidebar-extensions-/plugins');
});

test('an MCP server is tested and added', async () => {
  await visit('/mcp', 'mcp-add-custom-server');
  await t('mcp-add-custom-server').click();
  await t('server-type-dropdown').click();
  await page.getByRole('option', { name: 'STDIO' }).click();
  await t('name-input').fill('adder');
  await t('command-input').fill(setup.node);
  await t('args-input').fill(setup.mcp);
  await t('mcp-test-connection').click();
  assert.equal(await t('name-input').inputValue(), 'adder');
  await shows(/success|connected|1 tool/i);
  await t('add-mcp-server-form').getByTestId('submit-button').click();
  await t('mcp-custom-editor').waitFor({ state: 'detached' });
  await page.reload();
  await t('mcp-installed-empty').waitFor({ state: 'detached' });
  await shows('adder');
});
