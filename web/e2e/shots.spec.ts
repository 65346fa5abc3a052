// Screenshots of the main states, for people to look at: DEFT_SHOTS names the directory.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from '@playwright/test';
import { confirming, expect, finish, log, painted, panel, risky, run, task, test, type Turn } from './deft';

test.use({ alone: true });

const directory = process.env.DEFT_SHOTS;
test.skip(!directory, 'DEFT_SHOTS is not set');

const edit = (path: string, old: string, now: string) => ({
  name: 'file_editor',
  arguments: { command: 'str_replace', path, old_str: old, new_str: now, security_risk: 'LOW' },
});
const low = (command: string) => ({ name: 'terminal', arguments: { command, security_risk: 'LOW' } });

const story: Turn[] = [
  {
    reply: {
      reasoning: 'The user wants the off-by-one fixed. I look at the project first and run its tests.',
      text: "I'll look at the project and run its tests.",
      tool_calls: [
        low(
          "mkdir -p cart && printf 'def total(prices, discount=0):\\n    \"\"\"Sum prices and apply a discount in percent.\"\"\"\\n    result = 0\\n    for i in range(len(prices) - 1):\\n        result += prices[i]\\n    return result * (100 - discount) / 100\\n' > cart/total.py && printf 'from cart.total import total\\n\\ndef test_total():\\n    assert total([1, 2, 3]) == 6\\n' > cart/test_total.py && git add -A && git -c user.name=a -c user.email=a@example.org commit -qm 'Cart' && ls cart",
        ),
      ],
    },
  },
  { reply: { tool_calls: [low('python3 -c "from cart.total import total; assert total([1, 2, 3]) == 6, total([1, 2, 3])" || { echo "in $PWD"; false; }')] } },
  {
    reply: {
      text: 'The loop leaves out the last price: `range(len(prices) - 1)` ends one too early. I let Python do the sum.',
      tool_calls: [
        edit('{{find "in (/[^ \\n]+)" .LastToolResult}}/cart/total.py', '    result = 0\n    for i in range(len(prices) - 1):\n        result += prices[i]\n    return result * (100 - discount) / 100', '    return sum(prices) * (100 - discount) / 100'),
      ],
    },
  },
  {
    reply: {
      tool_calls: [
        {
          name: 'task_tracker',
          arguments: {
            command: 'plan',
            task_list: [
              { title: 'Find the cause', notes: '', status: 'done' },
              { title: 'Mend total()', notes: 'cart/total.py', status: 'in_progress' },
              { title: 'Run the tests again', notes: '', status: 'todo' },
            ],
            security_risk: 'LOW',
          },
        },
      ],
    },
  },
  { reply: { tool_calls: [low('python3 -c "from cart.total import total; assert total([1, 2, 3]) == 6" && echo ok')] } },
  { reply: { text: 'The tests pass. I clean up what they left behind.', tool_calls: [risky('rm -rf cart/__pycache__')] } },
  finish(
    'The total is right again. `total()` left out the last price; it now uses `sum()`.\n\n| Check | Result |\n|---|---|\n| `total([1, 2, 3])` | 6 |\n| with 10 % discount | 5.4 |\n\nNothing else was changed.',
  ),
];

for (const theme of ['light', 'dark'] as const) {
  const shot = async (page: Page, name: string) => {
    await page.mouse.move(700, 780);
    await page.screenshot({ path: join(directory ?? '', `${name}-${theme}.png`), animations: 'disabled' });
  };

  test(`screenshots: ${theme}`, async ({ deft, page }) => {
    mkdirSync(directory ?? '', { recursive: true });
    await page.emulateMedia({ colorScheme: theme });
    await deft.script(story);
    await deft.serve();
    await deft.signIn(page);
    await expect(page.getByLabel(/API key, or the address/)).toBeVisible();
    await shot(page, 'first-run');
    await deft.setModel(page, confirming);
    await expect(page.getByRole('textbox', { name: 'Task' })).toBeVisible();
    await shot(page, 'home');
    await page.getByRole('textbox', { name: 'Task' }).fill('The total of the cart is wrong by the last item. Find out why and mend it.');
    await page.keyboard.press('Enter');
    const confirm = page.getByRole('region', { name: 'Confirmation' });
    await expect(confirm).toContainText('rm -rf');
    await shot(page, 'confirm');
    await page.getByRole('button', { name: /Allow/ }).click();
    await expect(log(page).getByText('The total is right again.')).toBeVisible();
    await log(page).getByRole('button', { name: /Edit .*total.py/ }).click();
    await expect.poll(() => painted(log(page), 'keyword')).toContain('return');
    await shot(page, 'finished');
    await panel(page, 'Changes').click();
    await page.getByRole('button', { name: /changed .*total.py/ }).click();
    await expect(page.getByRole('complementary', { name: 'Changes' }).getByRole('group', { name: /Changes of .*total.py/ })).toContainText('sum(prices)');
    await expect.poll(() => painted(page.getByRole('complementary', { name: 'Changes' }), 'keyword')).toContain('return');
    await shot(page, 'changes');
    await panel(page, 'Files').click();
    await page.getByRole('button', { name: /^cart/ }).click();
    await page.getByRole('button', { name: /^total.py/ }).click();
    await expect(page.getByRole('region', { name: 'total.py', exact: true })).toContainText('sum(prices)');
    await expect.poll(() => painted(page.getByRole('region', { name: 'total.py', exact: true }), 'keyword')).toContain('return');
    await shot(page, 'files');
    await panel(page, 'Terminal').click();
    await page.locator('.xterm-helper-textarea').focus();
    await page.keyboard.type('git log --oneline; git diff --stat\n');
    await expect(page.locator('.xterm-accessibility')).toContainText('1 file changed');
    await shot(page, 'terminal');
    await panel(page, 'Usage').click();
    await shot(page, 'usage');
    await panel(page, 'Events').click();
    await shot(page, 'events');
    for (const tab of ['models', 'secrets', 'safety', 'sandbox', 'tools', 'git', 'keys', 'appearance', 'keyboard', 'import']) {
      await page.goto(`${deft.url}/settings/${tab}`);
      await expect(page.getByRole('heading', { name: 'Settings' })).toBeVisible();
      await shot(page, `settings-${tab}`);
    }
    await page.goto(`${deft.url}/nowhere`);
    await shot(page, 'no-page');
    await page.setViewportSize({ width: 390, height: 780 });
    await page.goto(deft.url);
    await expect(page.getByRole('textbox', { name: 'Task' })).toBeVisible();
    await shot(page, 'phone-home');
    await page.getByRole('button', { name: 'Open the menu' }).click();
    await shot(page, 'phone-menu');
    await page.locator('.conversation-link').first().click();
    await expect(log(page).getByText('The total is right again.')).toBeVisible();
    await shot(page, 'phone-conversation');
    await panel(page, 'Changes').click();
    await expect(page.getByText('1 file changed')).toBeVisible();
    await shot(page, 'phone-changes');
  });
}

test('screenshots: the connection is lost', async ({ deft, page }) => {
  mkdirSync(directory ?? '', { recursive: true });
  await task(deft, page, [{ reply: { tool_calls: [run('sleep 60')] } }], 'Wait');
  await expect(log(page).getByRole('button', { name: /Run sleep/ })).toBeVisible();
  await deft.restart('SIGKILL', async () => {
    await expect(page.getByText('The connection is lost.')).toBeVisible();
    await page.screenshot({ path: join(directory ?? '', 'lost.png') });
  });
});
