// Prompts of MCP servers in the box for a message.
import type { Page } from '@playwright/test';
import { clean } from './axe';
import { expect, finish, log, looks, onPhone, send, test, type Deft, type Turn } from './deft';
import { answering, everything, hasEverything } from './mcp';

const box = (page: Page) => page.getByRole('textbox', { name: 'Message' });
const list = (page: Page) => page.getByRole('listbox', { name: 'Prompts of MCP servers' });
const option = (page: Page, name: RegExp) => list(page).getByRole('option', { name });

async function begin(deft: Deft, page: Page, turns: Turn[], servers: Record<string, { url: string }>): Promise<void> {
  const base_url = await deft.script(turns);
  await deft.serve();
  await deft.open(page, { agent_settings_diff: { llm: { model: 'openai/scripted', base_url, api_key: 'sk-of-the-test' }, mcp_config: { mcpServers: servers } } });
  await send(page, 'Prepare');
  await expect(log(page).getByText('Ready.')).toBeVisible();
}

test('a prompt of an MCP server is found by its name, chosen with keys, and brings its text along', async ({ deft, page }) => {
  test.skip(!hasEverything && process.env.CI !== 'true', 'there is no server-everything: make deps');
  const server = await everything();
  await begin(deft, page, [finish('Ready.'), { match: { user: "What's weather in Paris, Texas?" }, ...finish('Sunny.') }], { everything: { url: server.url } });
  await box(page).click();
  await page.keyboard.type('/');
  await expect(list(page).getByRole('option')).toHaveCount(4);
  await expect(box(page)).toBeFocused();
  await expect(box(page)).toHaveAttribute('aria-controls', (await list(page).getAttribute('id')) ?? '');
  const selected = list(page).getByRole('option', { selected: true });
  await expect(selected).toContainText('/everything:simple-prompt');
  await page.keyboard.press('ArrowDown');
  await expect(selected).toContainText('/everything:args-prompt CITY [STATE]');
  await expect(selected).toContainText('A prompt with two arguments, one required and one optional');
  await expect(selected).toContainText('city Name of the city');
  await expect(box(page)).toHaveAttribute('aria-activedescendant', (await selected.getAttribute('id')) ?? '');
  await clean(page, 'prompts');
  await looks(page, 'prompts');
  await onPhone(page, async () => {
    await expect(option(page, /simple-prompt/)).toBeInViewport();
    await clean(page, 'prompts on a phone');
  });

  await page.keyboard.press('Shift+Tab'); // the list scrolls, so it has the focus, too
  await expect(list(page)).toBeFocused();
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('ArrowUp');
  await expect(selected).toContainText('resource-prompt');
  await expect(selected).toBeInViewport();
  await page.keyboard.press('Escape');
  await expect(list(page)).toBeHidden();
  await expect(box(page)).toBeFocused();
  await page.keyboard.press('Backspace');
  await page.keyboard.type('/args');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('Enter');
  await expect(box(page)).toHaveValue('/everything:args-prompt ');
  await expect(list(page)).toBeHidden();
  await page.keyboard.press('Enter');
  await expect(page.getByRole('alert').filter({ hasText: 'needs city' })).toBeVisible();
  await expect(box(page)).toHaveValue('/everything:args-prompt ');
  await page.keyboard.type('Paris state=Texas');
  await expect(box(page)).toHaveAccessibleDescription(/CITY \[STATE\]\s*city\s*Name of the city/);
  await clean(page, 'the arguments of a prompt');
  await looks(page, 'prompt-arguments');
  await page.keyboard.press('Enter');
  await expect(log(page).getByText('Sunny.')).toBeVisible();
  await expect(box(page)).toHaveValue('');
  await server.close();
});

test('hostile prompts are text, a tap chooses one in front of words, and paths of files offer nothing', async ({ deft, page }) => {
  const about = `<img src=x onerror="document.title='owned'"> ${'very '.repeat(200)}long`;
  const hostile = await answering({
    initialize: { protocolVersion: '2025-06-18', capabilities: { prompts: {} }, serverInfo: { name: 'x', version: '1' } },
    'prompts/list': {
      prompts: [
        { name: `w${'W'.repeat(190)}`, description: about, arguments: Array.from({ length: 30 }, (_, i) => ({ name: `name${i}`, description: about, required: i % 2 === 0 })) },
        { name: 'two words' },
        { name: '\u202egnp.exe' },
        ...Array.from({ length: 300 }, (_, i) => ({ name: `plan${i}`, description: `Plan ${i}` })),
      ],
    },
    'prompts/get': ({ name }: { name: string }) => ({ messages: [{ role: 'user', content: { type: 'text', text: `The text of ${name}.` } }] }),
  });
  await begin(deft, page, [finish('Ready.'), { match: { user: 'The text of plan12.' }, ...finish('Planned.') }], { 'my <b>web</b>': { url: hostile.url } });
  await box(page).click();
  await page.keyboard.type('/');
  await expect(list(page).getByRole('option')).toHaveCount(200);
  await expect(page.getByText('of its prompts are not listed')).toHaveCount(1);
  await looks(page, 'prompts-hostile');
  await onPhone(page, () => clean(page, 'hostile prompts on a phone'));
  await page.keyboard.press('ArrowUp');
  await expect(list(page).getByRole('option', { selected: true })).toBeInViewport();
  for (const [written, options] of [['/usr/bin/env', 0], ['see /my', 0], ['/plan12 the login', 0], ['/PLAN12', 11]] as const) {
    await box(page).fill(written);
    await expect(list(page).getByRole('option')).toHaveCount(options);
    await expect(page.getByText('of its prompts are not listed')).toHaveCount(options && 1);
  }
  await box(page).fill('/plan12 the login');
  await page.keyboard.press('Home');
  for (let i = 0; i < '/plan12'.length; i++) await page.keyboard.press('ArrowRight');
  await option(page, /:plan12 /).click();
  await expect(box(page)).toHaveValue('/my__b_web__b_:plan12 the login');
  await expect(box(page)).toBeFocused();
  expect(await page.evaluate(() => document.title)).not.toBe('owned');
  await page.keyboard.press('Control+Enter');
  await expect(log(page).getByText('Planned.')).toBeVisible();
  await hostile.close();
  // The list is as it was for some seconds; then the server that is gone is named.
  await page.reload();
  await expect(log(page).getByText('Planned.')).toBeVisible();
  await box(page).click();
  await page.keyboard.type('/');
  await expect(page.getByText('MCP server my <b>web</b>: list its prompts')).toBeVisible();
  await page.keyboard.press('Escape');
  await expect(page.getByText('list its prompts')).toBeHidden();
});

test('without MCP servers nothing is offered, and the box is as it was', async ({ deft, page }) => {
  await begin(deft, page, [finish('Ready.'), { match: { user: '/tmp' }, ...finish('Seen.') }], {});
  const answered = page.waitForResponse(/\/prompts$/);
  await box(page).click();
  await page.keyboard.type('/');
  await answered;
  await expect(list(page)).toBeHidden();
  await page.keyboard.type('tmp');
  await page.keyboard.press('Enter');
  await expect(log(page).getByText('Seen.')).toBeVisible();
});
