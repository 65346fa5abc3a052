// The agent's browser: live, taken over by the user, and its screenshots.
import { clean } from './axe';
import type { Page } from '@playwright/test';
import { expect, finish, log, looks, panel, run, saves, shot, status, test, type Deft } from './deft';

const shop = `<!doctype html><title>Shop</title><style>body{font:20px sans-serif;background:#fff}button{font:inherit;padding:20px}</style>
<h1>Tea</h1><button onclick="document.querySelector('p').textContent='Bought: ' + document.querySelector('input').value">Buy</button>
<input aria-label="Name" autofocus><p>Nothing yet</p><div style="height:3000px"></div>
<script>addEventListener('scroll', () => { document.querySelector('p').textContent += ', scrolled'; }, { once: true })</script>`;

// open starts a conversation whose agent has opened the shop. Its next answer says what the page has.
async function open(deft: Deft, page: Page): Promise<void> {
  const call = (name: string, args = {}) => ({ reply: { tool_calls: [{ name, arguments: args }] } });
  const base_url = await deft.script([
    { match: { tools: ['browser_navigate'], assistant_turns: 0 }, reply: { tool_calls: [run(`cat > index.html <<'END'\n${shop}\nEND\n(python3 -m http.server 8123 >/dev/null 2>&1 &) ; until curl -s -o /dev/null localhost:8123; do :; done`)] } },
    { match: { assistant_turns: 1 }, ...call('browser_navigate', { url: 'http://localhost:8123/' }) },
    { match: { assistant_turns: 2 }, ...finish('The shop is open.') },
    { match: { assistant_turns: 3 }, ...call('browser_get_state', { include_screenshot: true }) },
    { match: { assistant_turns: 4 }, ...call('browser_get_content') },
    { match: { assistant_turns: 5 }, reply: { tool_calls: [{ name: 'finish', arguments: { message: 'Seen: {{.LastToolResult}}' } }] } },
  ]);
  await deft.serve();
  await deft.open(page, { agent_settings_diff: { llm: { model: 'openai/scripted', base_url, api_key: 'sk-of-the-test' } } });
  await page.goto(`${deft.url}/settings/models`);
  const more = page.getByRole('group', { name: 'Which further tools has the agent?' });
  await saves(page, () => more.getByRole('checkbox', { name: /Browser/ }).check());
  await page.reload();
  await expect(more.getByRole('checkbox', { name: /Browser/ })).toBeChecked();
  await clean(page, 'the choice of further tools');
  await page.goto(deft.url);
  const task = page.getByRole('textbox', { name: 'Task' });
  await task.fill('Open the shop');
  await task.press('Control+Enter');
  await expect(log(page).getByText('The shop is open.')).toBeVisible();
}

test('the browser is watched live and taken over; the agent is told', async ({ deft, page }) => {
  await open(deft, page);
  await panel(page, 'Browser').click();
  const side = page.getByRole('complementary', { name: 'Browser' });
  await expect(side.getByText('http://localhost:8123/')).toBeVisible();
  await expect(side.getByRole('img', { name: 'The page in the agent’s browser' })).toBeVisible();
  await clean(page, 'the live browser');
  await shot(page, 'browser-live');

  await side.getByRole('button', { name: 'Take over' }).click();
  const live = side.getByRole('img', { name: 'The page in the agent’s browser' });
  const keys = side.getByRole('textbox', { name: 'Keys for the page in the agent’s browser' });
  await expect(keys).toBeFocused();
  await page.keyboard.type('Eve'); // the box has the focus of the page
  const scale = (await live.boundingBox())!.width / 1280;
  await live.dblclick({ position: { x: 108 * scale, y: 133 * scale } }); // marks the word
  await page.keyboard.type('Ada');
  await page.keyboard.insertText(' Lovelace é'); // as an input method does
  await live.click({ position: { x: 50 * scale, y: 130 * scale } });
  await expect(keys).toBeFocused();
  await clean(page, 'the browser taken over');
  await looks(page, 'browser-taken');
  await page.keyboard.press('Shift+Escape');
  await expect(side.getByRole('button', { name: 'Take over' })).toBeFocused();

  await page.getByRole('textbox', { name: 'Message' }).fill('What do you see?');
  await page.keyboard.press('Enter');
  await expect(log(page).getByText(/Bought: Ada Lovelace é/).first()).toBeVisible();
  await expect(status(page, 'Finished')).toBeVisible();
  await side.getByRole('button', { name: 'Screenshots' }).click();
  await expect(side.getByRole('img', { name: 'Screenshot 1' })).toBeVisible();
  await clean(page, 'the screenshots of the browser');
});

test.describe('a phone', () => {
  test.use({ hasTouch: true, isMobile: true, viewport: { width: 390, height: 780 } });

  test('types, taps and scrolls in the browser', async ({ deft, page }) => {
    await page.emulateMedia({ colorScheme: 'dark' });
    await open(deft, page);
    await panel(page, 'Browser').tap();
    const side = page.getByRole('complementary', { name: 'Browser' });
    await side.getByRole('button', { name: 'Take over' }).tap();
    const live = side.getByRole('img', { name: 'The page in the agent’s browser' });
    const keys = side.getByRole('textbox', { name: 'Keys for the page in the agent’s browser' });
    await expect(keys).not.toBeFocused(); // the keyboard would take half of the window
    await side.getByRole('button', { name: 'Keyboard' }).tap();
    await expect(keys).toBeFocused();
    await page.keyboard.insertText('Adax'); // keys of phones are texts
    await keys.evaluate((box: HTMLTextAreaElement) => {
      box.value = box.value.slice(0, -1); // as a phone deletes
      box.dispatchEvent(new InputEvent('input', { bubbles: true, inputType: 'deleteContentBackward' }));
    });
    const scale = (await live.boundingBox())!.width / 1280;
    await live.tap({ position: { x: 50 * scale, y: 130 * scale } });
    await expect(keys).toBeFocused();
    await clean(page, 'the browser on a phone');
    await shot(page, 'browser-phone');
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);

    // A finger that moves up scrolls down.
    const box = (await live.boundingBox())!;
    const session = await page.context().newCDPSession(page);
    const touch = (type: 'touchStart' | 'touchMove' | 'touchEnd', y: number) => session.send('Input.dispatchTouchEvent', { type, touchPoints: type === 'touchEnd' ? [] : [{ x: box.x + box.width / 2, y: box.y + y }] });
    await touch('touchStart', box.height - 10);
    for (let y = box.height - 20; y > 10; y -= 10) await touch('touchMove', y);
    await touch('touchEnd', 10);
    await side.getByRole('button', { name: 'Give back' }).tap();
    await page.getByRole('button', { name: 'Close the panel' }).tap();
    await page.getByRole('textbox', { name: 'Message' }).fill('What do you see?');
    await page.getByRole('button', { name: 'Send', exact: true }).tap();
    await expect(log(page).getByText(/Bought: Ada, scrolled/).first()).toBeVisible();
  });
});
