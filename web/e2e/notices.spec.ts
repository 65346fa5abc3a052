// Notices of the browser, which come while the user looks elsewhere.
import { confirming, expect, finish, log, risky, task, test } from './deft';
import type { Page } from '@playwright/test';

// noticesOf collects the notices that the page shows: Chromium without a desktop shows
// none itself. The question for permission, and its answer, are the browser's own; but without
// a desktop, Notification.permission is "denied" whatever the answer is.
const collect = (page: Page) =>
  page.addInitScript(() => {
    const shown: { body: string; tag: string; click: () => void }[] = [];
    (window as unknown as { shown: typeof shown }).shown = shown;
    const Real = window.Notification;
    let answer: NotificationPermission = 'default';
    void navigator.permissions.query({ name: 'notifications' }).then((status) => {
      if (status.state !== 'prompt') answer = status.state;
    });
    class Seen extends Real {
      static override get permission() {
        return answer;
      }
      constructor(title: string, options: NotificationOptions = {}) {
        super(title, options);
        shown.push({ body: options.body ?? '', tag: options.tag ?? '', click: () => this.onclick?.call(this, new Event('click')) });
      }
    }
    window.Notification = Seen;
  });

const shown = (page: Page) => page.evaluate(() => (window as unknown as { shown: { body: string }[] }).shown.map((n) => n.body));

// lookAway has the page believe that another window has the focus.
const lookAway = (page: Page) => page.evaluate(() => (document.hasFocus = () => false));

test('a notice tells that an agent asks, and that it has finished; a click opens the conversation', async ({ deft, page, context }) => {
  await deft.script([{ reply: { tool_calls: [risky('echo allowed')] } }, finish('Done.')]);
  await deft.serve();
  await context.grantPermissions(['notifications'], { origin: deft.url });
  await collect(page);
  await deft.open(page, confirming);
  await page.goto(`${deft.url}/settings/appearance`);
  await page.getByLabel(/Tell me when an agent/).check();
  await page.goto(deft.url);
  await lookAway(page); // before the agent can ask: who looks at the page is told nothing
  await page.getByRole('textbox', { name: 'Task' }).fill('Do it');
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/conversations\//);
  await expect(page.getByRole('region', { name: 'Confirmation' })).toBeVisible();
  await expect.poll(() => shown(page)).toEqual([expect.stringMatching(/needs your answer/)]);
  await page.getByRole('button', { name: /Allow/ }).click();
  await expect(log(page).getByText('Done.')).toBeVisible();
  await expect.poll(() => shown(page)).toEqual([expect.stringMatching(/needs your answer/), expect.stringMatching(/has finished/)]);
  const conversation = page.url();
  await page.getByRole('link', { name: 'New task' }).click();
  await page.evaluate(() => (window as unknown as { shown: { click: () => void }[] }).shown[1]?.click());
  await expect(page).toHaveURL(conversation);
});

test('nobody is told while looking at the page, or after saying no', async ({ deft, page, context }) => {
  await context.grantPermissions(['notifications']);
  await collect(page);
  await task(deft, page, [finish('Done.')], 'Do it');
  await lookAway(page); // without the choice in the settings
  await expect(log(page).getByText('Done.')).toBeVisible();
  await expect(page.getByRole('navigation', { name: 'Conversations' }).getByText('Finished')).toBeVisible();
  expect(await shown(page)).toEqual([]);
});
