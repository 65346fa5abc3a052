// The equipment of the agent, and VS Code where a sandbox has it.
import { join } from 'node:path';
import { clean } from './axe';
import { expect, finish, log, onPhone, panel, run, shot, test } from './deft';

for (const theme of ['light', 'dark'] as const) {
  test(`the system prompt, tools with schemas, skills and hooks in force are shown: ${theme}`, async ({ deft, page }) => {
    await page.emulateMedia({ colorScheme: theme });
    if (theme === 'dark') await page.setViewportSize({ width: 390, height: 780 });
    const skills = [{ name: 'house-style', content: 'Write <b>plain</b> English.', trigger: { type: 'keyword', keywords: ['style'] } }];
    const base_url = await deft.script([finish('Ready.')]);
    await deft.serve();
    await deft.open(page, { agent_settings_diff: { llm: { model: 'openai/scripted', base_url, api_key: 'sk-of-the-test' }, agent_context: { skills } } });
    await page.getByRole('textbox', { name: 'Task' }).fill('Prepare');
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/conversations\//);
    await expect(log(page).getByText('Ready.')).toBeVisible();
    await panel(page, 'Agent').click();
    const side = page.getByRole('complementary', { name: 'Agent' });
    await expect(side.getByText(/^Tools \(\d+\)$/)).toBeVisible();
    await side.getByText('System prompt', { exact: true }).focus();
    await page.keyboard.press('Enter');
    await expect(side.getByRole('region', { name: 'System prompt' })).toContainText('You are Deft');
    await side.getByText('System prompt', { exact: true }).click();
    await side.locator('summary', { hasText: 'terminal' }).first().click();
    await expect(side.getByText('"security_risk"').first()).toBeVisible();
    await expect(side.getByText('"command"').first()).toBeVisible();
    await side.locator('summary', { hasText: 'house-style' }).click();
    await expect(side.getByText('Write <b>plain</b> English.')).toBeVisible();
    await expect(side.getByText('Hooks', { exact: true })).toBeVisible();
    await clean(page, 'agent');
    if (process.env.DEFT_SHOTS) await page.screenshot({ path: join(process.env.DEFT_SHOTS, `agent-${theme}.png`) });
    expect(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth)).toBe(true);
  });
}

test('hooks of the project run once they are allowed, and the model in use is marked', async ({ deft, page }) => {
  const config = JSON.stringify({ PreToolUse: [{ matcher: 'terminal', hooks: [{ type: 'command', command: 'grep -q "push origin main" || exit 0; echo nothing is pushed to main >&2; exit 2' }] }] });
  const base_url = await deft.script([
    { reply: { tool_calls: [run(`mkdir .openhands && cat > .openhands/hooks.json <<'END'\n${config}\nEND`)] } },
    finish('Ready.'),
    { reply: { tool_calls: [run('git push origin main')] } },
    finish('Ready again.'),
  ]);
  await deft.serve();
  const model = { model: 'openai/scripted', base_url, api_key: 'sk-of-the-test', input_cost_per_token: 1e-6, output_cost_per_token: 2e-6 };
  await deft.open(page, { max_budget_per_task: 5, agent_settings_diff: { llm: model } });
  await page.getByRole('textbox', { name: 'Task' }).fill('Prepare');
  await page.keyboard.press('Enter');
  await expect(log(page).getByText('Ready.')).toBeVisible();
  await panel(page, 'Agent').click();
  const side = page.getByRole('complementary', { name: 'Agent' });
  await expect(side.getByText('No hooks run.')).toBeVisible();
  const question = page.getByRole('region', { name: 'Hooks of the project' });
  await expect(question.getByText('The project has hooks. May they run?')).toBeVisible();
  await expect(question.getByText('grep -q "push origin main"')).toBeVisible();
  await clean(page, 'hooks');
  await shot(page, 'hooks');
  await onPhone(page, async () => {
    await clean(page, 'hooks in the panel of a phone');
    await shot(page, 'hooks-panel-phone');
    await page.getByRole('button', { name: 'Close the panel' }).click();
    await clean(page, 'the question about hooks on a phone');
    await shot(page, 'hooks-phone');
  });
  await panel(page, 'Agent').click();
  await question.getByRole('button', { name: 'Allow the hooks' }).click();
  await expect(question).toBeHidden();
  await expect(side.getByText('You have allowed the hooks of the project.')).toBeVisible();
  await expect(log(page).getByText('The hooks of the project are allowed')).toBeVisible();

  const meter = page.locator('.meter');
  await expect(meter).toContainText(/of \$5\.00/);
  await expect(meter).toContainText('tokens');
  const saved = await page.request.post(`${deft.url}/api/v1/settings/profiles/fast`, { headers: { Origin: deft.url }, data: { llm: model } });
  expect(saved.ok(), await saved.text()).toBe(true);
  const choose = async () => {
    await page.getByRole('button', { name: 'More', exact: true }).click();
    await page.getByRole('menuitem', { name: 'Switch the model' }).click();
    return page.getByRole('dialog').getByRole('button', { name: /fast/ });
  };
  await expect(await choose()).toHaveAttribute('aria-pressed', 'false');
  await page.getByRole('dialog').getByRole('button', { name: /fast/ }).click();
  await expect(meter).not.toContainText('tokens'); // it has not been called yet
  await page.getByRole('textbox', { name: 'Message' }).fill('Go on');
  await page.keyboard.press('Enter');
  await expect(log(page).getByText('Ready again.')).toBeVisible();
  await expect(log(page).getByText('Hook PreToolUse (terminal) blocked the action: nothing is pushed to main')).toBeVisible();
  await expect(meter).toContainText('K tokens');
  await expect(await choose()).toHaveAttribute('aria-pressed', 'true');
});
