import type { Page } from '@playwright/test';
import { expect, finish, log, panel, run, status, task, test } from './deft';

test('changes are compared in one column and side by side', async ({ deft, page }) => {
  await task(
    deft,
    page,
    [
      { reply: { tool_calls: [run('git init -q . ; printf "one\\ntwo\\nthree\\n" > a.txt && git add -A && git -c user.name=a -c user.email=a@b commit -qm a && printf "one\\n2\\nthree\\n" > a.txt && echo new > b.txt')] } },
      finish('Changed.'),
    ],
    'Change it',
  );
  await expect(log(page).getByText('Changed.')).toBeVisible();
  await panel(page, 'Changes').click();
  await page.getByRole('button', { name: /changed a.txt/ }).click();
  const diff = page.getByRole('region', { name: /Changes of .*a.txt/ });
  await expect(diff.locator('tr.removed')).toContainText('two');
  await expect(diff.locator('tr.added')).toContainText('2');
  await page.getByLabel('Side by side').check();
  await expect(diff.locator('td.removed.half')).toContainText('two');
  await expect(diff.locator('td.added.half')).toContainText('2');
  await expect(page.getByRole('button', { name: /added b.txt/ })).toBeVisible();
});


// painted waits until the page was laid out anew.
const painted = (page: Page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(done)))));

test('a panel that opens leaves the chat where it was: at its end if that was in view, else not', async ({ deft, page }) => {
  const text = 'A paragraph that takes more lines the less room there is for it. '.repeat(12);
  await task(deft, page, [...Array.from({ length: 6 }, (_, i) => ({ reply: { text: `${i}. ${text}\n\n${text}`, tool_calls: [run(`echo ${i}`)] } })), finish(`${text}\n\nThe very end.`)], 'Tell much');
  const end = log(page).getByText('The very end.');
  const jump = page.getByRole('button', { name: 'Jump to the newest event' });
  await expect(status(page, 'Finished')).toBeVisible();
  await expect(end).toBeInViewport();
  for (const name of ['Usage', 'Events']) {
    await panel(page, name).click();
    await expect(page.locator('aside.panel')).toBeVisible();
    await painted(page);
    await expect(end).toBeInViewport();
    await expect(jump).toBeHidden();
    await page.getByRole('button', { name: 'Close the panel' }).click();
    await expect(page.locator('aside.panel')).toBeHidden();
    await painted(page);
    await expect(end).toBeInViewport();
    await expect(jump).toBeHidden();
  }
  await page.setViewportSize({ width: 900, height: 600 });
  await painted(page);
  await expect(end).toBeInViewport();
  await page.setViewportSize({ width: 1280, height: 800 });

  await page.locator('.timeline-list').hover();
  await page.mouse.wheel(0, -700);
  await expect(jump).toBeVisible();
  await panel(page, 'Usage').click();
  await expect(page.locator('aside.panel')).toBeVisible();
  await painted(page);
  await expect(jump).toBeVisible();
  await expect(end).not.toBeInViewport();
  await jump.click();
  await expect(end).toBeInViewport();
  await expect(jump).toBeHidden();
});
