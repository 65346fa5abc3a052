// The tokens and costs of a conversation, and pictures in results of MCP servers.
import { join } from 'node:path';
import { clean } from './axe';
import { expect, finish, log, panel, run, task, test } from './deft';
import { answering } from './mcp';
import type { Page } from '@playwright/test';

const shot = async (page: Page, name: string) => {
  if (process.env.DEFT_SHOTS) await page.screenshot({ path: join(process.env.DEFT_SHOTS, `${name}.png`) });
};

for (const theme of ['light', 'dark'] as const) {
  test(`tokens, cost and time of every call are a chart, after a reload too: ${theme}`, async ({ deft, page }) => {
    await page.emulateMedia({ colorScheme: theme });
    if (theme === 'dark') await page.setViewportSize({ width: 390, height: 780 });
    const usage = (input: number, output: number, cached: number) => ({ input, output, cached });
    const base_url = await deft.script([
      { reply: { tool_calls: [run('echo 1')], usage: usage(9000, 300, 0) }, latency: '3s' },
      { reply: { tool_calls: [run('echo 2')], usage: usage(12000, 900, 8000) } },
      { ...finish('Done.'), reply: { ...finish('Done.').reply, usage: usage(14000, 100, 12000) } },
    ]);
    await deft.serve();
    await deft.open(page, {
      agent_settings_diff: { llm: { model: 'openai/scripted', base_url, api_key: 'sk-of-the-test', input_cost_per_token: 0.000003, output_cost_per_token: 0.000015 } },
    });
    await page.getByRole('textbox', { name: 'Task' }).fill('Count');
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/conversations\//);
    await expect(log(page).getByText('Done.')).toBeVisible();
    await panel(page, 'Usage').click();
    const rows = page.getByRole('row');
    const check = async () => {
      await expect(rows.filter({ hasText: /^1/ })).toContainText('9K');
      await expect(rows.filter({ hasText: /^2/ })).toContainText('12K');
      await expect(rows.filter({ hasText: /^3/ })).toContainText('14K');
    };
    await check();
    await expect(rows.filter({ hasText: /^1/ })).toContainText('$0.03'); // 9000 × 3 µ$ + 300 × 15 µ$
    await shot(page, `usage-tokens-${theme}`);
    const longest = () => page.locator('.bar-chart').evaluateAll((all) => {
      const width = (svg: Element) => [...svg.querySelectorAll('rect')].reduce((sum, r) => sum + r.getBoundingClientRect().width, 0);
      const widths = all.map(width);
      return widths.indexOf(Math.max(...widths));
    });
    await expect.poll(longest).toBe(2);
    await page.getByRole('radio', { name: 'Time' }).check();
    await expect.poll(longest).toBe(0);
    await page.getByRole('radio', { name: 'Cost' }).focus();
    await page.keyboard.press('Space');
    await shot(page, `usage-cost-${theme}`);
    await clean(page, 'usage');
    await page.reload();
    await check();
    expect(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth)).toBe(true);
  });
}

test('a price that is not known is no price of nothing', async ({ deft, page }) => {
  await task(deft, page, [{ ...finish('Done.'), reply: { ...finish('Done.').reply, usage: { input: 9000, output: 300, cached: 0 } } }], 'Count');
  await expect(log(page).getByText('Done.')).toBeVisible();
  await expect(page.locator('.meter')).toContainText('9.3K tokens');
  await expect(page.locator('.meter')).toHaveAttribute('title', /The cost is not known/);
  await panel(page, 'Usage').click();
  await expect(page.locator('.usage dl')).toContainText('Costnot known');
  await shot(page, 'usage-unknown');
  await expect(page.getByText('$0.00')).toHaveCount(0);
  await page.goto(`${deft.url}/conversations`);
  await expect(page.getByRole('row', { name: /A short title/ })).toBeVisible();
  await expect(page.getByText('$0.00')).toHaveCount(0);
});

// drawing is an MCP server whose tool answers with a text and a picture.
const drawing = (data: string) =>
  answering({
    initialize: { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'draw', version: '1' } },
    'tools/list': { tools: [{ name: 'take_screenshot', description: 'Draws the page.', inputSchema: { type: 'object', properties: {} } }] },
    'tools/call': { content: [{ type: 'text', text: 'Here it is.' }, { type: 'image', data, mimeType: 'image/png' }] },
  });

test('a picture in the result of an MCP tool is shown in its line, and one of a browser in the panel', async ({ deft, page }) => {
  const picture = 'iVBORw0KGgoAAAANSUhEUgAAAAoAAAAKCAIAAAACUFjqAAAAEklEQVR4nGP4z8CAB+GTG8HSALfKY52fTcuYAAAAAElFTkSuQmCC';
  const server = await drawing(picture);
  const base_url = await deft.script([{ reply: { tool_calls: [{ name: 'take_screenshot', arguments: {} }] } }, finish('Done.')]);
  await deft.serve();
  await deft.open(page, {
    agent_settings_diff: { llm: { model: 'openai/scripted', base_url, api_key: 'sk-of-the-test' }, mcp_config: { mcpServers: { draw: { url: server.url } } } },
  });
  await page.getByRole('textbox', { name: 'Task' }).fill('Draw');
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/conversations\//);
  await expect(log(page).getByText('Done.')).toBeVisible();
  await log(page).locator('.action-line').first().click();
  await expect(log(page).getByText('Here it is.')).toBeVisible();
  const image = log(page).getByRole('img', { name: 'Picture 1 of the result' });
  await expect(image).toBeVisible();
  await expect(image).toHaveJSProperty('naturalWidth', 10);
  await shot(page, 'mcp-picture');
  await panel(page, 'Browser').click();
  const screenshot = page.getByRole('img', { name: 'Screenshot 1' });
  await expect(screenshot).toBeVisible();
  await expect(screenshot).toHaveJSProperty('naturalWidth', 10);
  await shot(page, 'browser');
  await server.close();
});
