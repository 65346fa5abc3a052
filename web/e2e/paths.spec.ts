// Where the server keeps its data is nobody's business who reads a conversation.
import { clean } from './axe';
import { expect, finish, log, panel, run, shot, task, test, variants } from './deft';
import type { Page } from '@playwright/test';

const dir = '{{find "in (/[^ \\n]+)" .LastToolResult}}';

// rows are the lines of all actions, of folded groups too.
async function rows(page: Page): Promise<string> {
  for (const group of await log(page).locator('.group [aria-expanded=false]').all()) await group.click();
  return (await log(page).locator('.action-line').allInnerTexts()).join('\n');
}

for (const [name, theme, size] of variants) {
  test(`rows, forks, prompts and shared pages do not show the data directory: ${name}`, async ({ deft, page, browser }) => {
    await page.emulateMedia({ colorScheme: theme });
    await page.setViewportSize(size);
    await task(
      deft,
      page,
      [
        { reply: { tool_calls: [run('echo "in $PWD"')] } },
        { reply: { text: 'I write it.', tool_calls: [{ name: 'file_editor', arguments: { command: 'create', path: `${dir}/note.txt`, file_text: 'one\n' } }, run(`cd ${dir} && cat ${dir}/note.txt; echo "in $PWD"`)] } },
        finish('It is written.'),
      ],
      'Write a note',
    );
    await expect(log(page).getByText('It is written.')).toBeVisible();
    const check = async (where: Page, what: string) => {
      const text = await rows(where);
      expect(text, what).toContain('cat ./note.txt');
      expect(text, what).toContain('note.txt');
      expect(text, what).not.toContain('/workspaces/');
    };
    await check(page, 'rows');
    await shot(page, `paths-rows-${name}`);

    const id = page.url().split('/').pop() ?? '';
    const found = await page.request.get(`${deft.url}/api/v1/conversation/${id}/events/search?limit=100`);
    expect(await found.text()).toContain('/workspaces/'); // the owner may know

    expect((await page.request.patch(`${deft.url}/api/v1/app-conversations/${id}`, { headers: { Origin: deft.url }, data: { public: true } })).ok()).toBe(true);
    const stranger = await (await browser.newContext({ colorScheme: theme, viewport: size })).newPage();
    await stranger.goto(`${deft.url}/shared/${id}`);
    await expect(log(stranger).getByText('It is written.')).toBeVisible();
    await check(stranger, 'a shared page');
    await log(stranger).getByRole('button', { name: /Run echo/ }).click();
    await expect(log(stranger).getByRole('group', { name: 'Output', exact: true })).toHaveText('in /workspace/project');
    await shot(stranger, `paths-shared-${name}`);
    await clean(stranger, 'a shared page');
    for (const path of [`/api/shared-events/search?conversation_id=${id}&limit=100`]) {
      const answer = await stranger.request.get(`${deft.url}${path}`);
      expect(answer.ok()).toBe(true);
      expect(await answer.text()).not.toContain('/workspaces/');
    }

    await panel(page, 'Terminal').click();
    const prompt = page.locator('.terminal-page:not([hidden]) .xterm-accessibility');
    await expect(prompt).toContainText('project');
    await expect(prompt).not.toContainText('workspaces');

    await page.goto(`${deft.url}/conversations/${id}`);
    const row = log(page).locator('.timeline-row', { hasText: 'It is written.' });
    await row.hover();
    await row.getByRole('button', { name: 'Actions of this event' }).click();
    await page.getByRole('menuitem', { name: 'Fork from here' }).click();
    await page.getByRole('button', { name: 'Fork', exact: true }).click();
    await expect(page).not.toHaveURL(new RegExp(id));
    await expect(log(page).getByText('It is written.')).toBeVisible();
    await check(page, 'a fork');
  });
}
