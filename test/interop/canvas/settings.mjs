// The settings pages and their effects.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { assert, page, panel, setup, shows, t, test } from './page.mjs';
import { changedModel, confirmation, pages, secondModel, secrets, visit } from './steps.mjs';

secrets();

pages();

secondModel();

changedModel();

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
