// The settings pages and their effects.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { assert, page, panel, setup, said, send, shows, t, test } from './page.mjs';

const visit = async (path, id) => {
  await page.goto(new URL(path, setup.page).href);
  await t(id).first().waitFor();
};

test('secrets', async () => {
  await visit('/settings/secrets', 'add-secret-button');
  await t('add-secret-button').click();
  await t('name-input').fill('PAGE_TOKEN');
  await t('value-input').fill('a secret value');
  await t('description-input').fill('of the page');
  await t('add-secret-form').getByTestId('submit-button').click();
  await shows('PAGE_TOKEN');
  await page.reload();
  await shows('PAGE_TOKEN');
  assert.ok(!(await page.content()).includes('a secret value'));
});

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
  await t('sdk-section-advanced-toggle').click();
  await t('llm-custom-model-input').fill('openai/second');
  await t('base-url-input').fill(`${setup.llm}/v1`);
  await t('llm-api-key-input').fill('sk-second');
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

test('confirmation', async () => {
  await visit('/settings/verification', 'verification-settings-screen');
  await page.locator('label', { has: t('sdk-settings-confirmation_mode') }).click();
  await t('save-button').click();
  await shows('Settings saved');
  await page.reload();
  await t('verification-settings-screen').waitFor();
  assert.equal(await t('sdk-settings-confirmation_mode').isChecked(), true);
});

test('a question is accepted, another rejected', async () => {
  await visit('/conversations', 'chat-input');
  await send('ask before one');
  await t('action-confirm-button').click();
  await said('It was allowed.');
  await send('ask before two');
  await t('action-reject-button').click();
  await t('action-reject-button').waitFor({ state: 'detached' });
  await panel('files');
  await t('files-tab-refresh').click();
  await t('file-tree-file-allowed-one').waitFor();
  assert.equal(await t('file-tree-file-allowed-two').count(), 0);
});

test('skills and plugins', async () => {
  const skill = join(setup.home, '.agents/skills/weaving/SKILL.md');
  mkdirSync(dirname(skill), { recursive: true });
  writeFileSync(skill, '---\nname: weaving\ndescription: Says how weaving is done.\n---\nDo it well.\n');
  await visit('/skills', 'sidebar-extensions-/skills');
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
  await shows(/success|connected|1 tool/i);
  await t('add-mcp-server-form').getByTestId('submit-button').click();
  await t('mcp-custom-editor').waitFor({ state: 'detached' });
  await page.reload();
  await t('mcp-installed-empty').waitFor({ state: 'detached' });
  await shows('adder');
});
