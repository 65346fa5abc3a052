// The panel of programs that listen in the sandbox.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, finish, log, panel, run, task, test } from './deft';

const serve = 'echo "<h1>Of the sandbox</h1>" > index.html; mkfifo said; python3 -u -m http.server 0 --bind 127.0.0.1 > said & read line < said; echo $line';

test('programs that listen are listed, and open in a tab without a way back', async ({ deft, page, context }) => {
  await task(deft, page, [{ reply: { tool_calls: [run(serve)] } }, finish('It listens.')], 'Serve a page');
  await expect(log(page).getByText('It listens.')).toBeVisible();
  await panel(page, 'Apps').click();
  const link = page.getByRole('list', { name: 'Programs' }).getByRole('link', { name: /^Port \d+$/ });
  await expect(link).toHaveCount(1);
  // The tabs of the panels leave room for the button that closes them.
  const [last, close] = [await panel(page, 'Events').boundingBox(), await page.getByRole('button', { name: 'Close the panel' }).boundingBox()];
  expect((last?.x ?? 0) + (last?.width ?? 0)).toBeLessThanOrEqual(close?.x ?? 0);
  if (process.env.DEFT_SHOTS) await page.screenshot({ path: join(process.env.DEFT_SHOTS, 'apps.png') });
  const opened = context.waitForEvent('page');
  await link.click();
  const app = await opened;
  await expect(app.getByRole('heading', { name: 'Of the sandbox' })).toBeVisible();
  expect(await app.evaluate(() => [window.opener, document.referrer])).toEqual([null, '']);
  expect(new URL(app.url()).origin).not.toBe(new URL(page.url()).origin);
});

test('the panel says that nothing listens, and why a list cannot be had', async ({ deft, page }) => {
  await task(deft, page, [finish('Ready.')], 'Prepare');
  await expect(log(page).getByText('Ready.')).toBeVisible();
  await panel(page, 'Apps').click();
  await expect(page.getByText('No program listens now')).toBeVisible();
  await page.route('**/apps', (route) => route.fulfill({ status: 500, json: { detail: 'the sandbox does not answer' } }));
  await page.getByRole('button', { name: 'Look again' }).click();
  await expect(page.locator('.panel').getByRole('alert')).toContainText('the sandbox does not answer');
});

// editor is a program that Deft starts like VS Code: it has that one's name, and says where it listens.
const editor = [
  '#!/usr/bin/env python3',
  'import http.server, sys',
  'class Page(http.server.BaseHTTPRequestHandler):',
  '    def do_GET(self):',
  '        self.send_response(200)',
  '        self.end_headers()',
  '        self.wfile.write(("<h1>" + " ".join(sys.argv[1:3]) + "</h1><p>" + self.path).encode())',
  'server = http.server.HTTPServer(("127.0.0.1", 0), Page)',
  'print("HTTP server listening on http://127.0.0.1:%d/" % server.server_port, flush=True)',
  'server.serve_forever()',
].join('\n');

// own is VS Code of the machine, whose programs its process sandboxes have.
const own = ['openvscode-server', 'code-server'].find((name) => spawnSync('sh', ['-c', `command -v ${name}`]).status === 0);

test('VS Code is offered only where the sandbox has it, starts once, and is linked', async ({ deft, page, context }) => {
  const place = `mkdir -p ~/.local/bin; cat > ~/.local/bin/openvscode-server <<'END'\n${editor}\nEND\nchmod +x ~/.local/bin/openvscode-server`;
  await deft.script([{ reply: { tool_calls: [run('true')] } }, finish('Nothing is there yet.'), { reply: { tool_calls: [run(place)] } }, finish('It is installed.')]);
  await deft.serve(undefined, { PATH: `${deft.dir}/.local/bin:${process.env.PATH}` });
  await deft.open(page);
  await page.getByRole('textbox', { name: 'Task' }).fill('Say what there is');
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/conversations\//);
  await expect(log(page).getByText('Nothing is there yet.')).toBeVisible();
  const asked = page.waitForResponse((response) => response.url().endsWith('/editor'));
  await panel(page, 'Apps').click();
  expect(await (await asked).json()).toEqual({ name: own ?? null, url: null, detail: null });
  await expect(page.getByText('No program listens now')).toBeVisible();
  await expect(page.getByText('VS Code')).toHaveCount(own ? 1 : 0);

  await page.getByRole('textbox', { name: 'Message' }).fill('Install it');
  await page.keyboard.press('Enter');
  await expect(log(page).getByText('It is installed.')).toBeVisible();
  await page.reload();
  await page.getByRole('button', { name: 'Start VS Code' }).click();
  const link = page.getByRole('link', { name: 'VS Code of the sandbox' });
  await expect(link).toBeVisible();
  const opened = context.waitForEvent('page');
  await link.click();
  const shown = await opened;
  await expect(shown.getByRole('heading', { name: /^--host 127.0.0.1$/ })).toBeVisible();
  await expect(shown.getByText(/folder=.*project$/)).toBeVisible();
  expect(new URL(shown.url()).origin).not.toBe(new URL(page.url()).origin);

  // It goes on when the server is started anew, and is not started a second time.
  const url = await link.getAttribute('href');
  await deft.restart();
  await page.reload();
  await expect(link).toHaveAttribute('href', url ?? '');
  await expect(page.getByRole('list', { name: 'Programs' }).getByRole('listitem')).toHaveCount(1);
});

test('VS Code that does not start says why', async ({ deft, page }) => {
  await deft.script([{ reply: { tool_calls: [run('mkdir -p ~/.local/bin; printf "#!/bin/sh\\necho it lacks a library >&2; exit 2\\n" > ~/.local/bin/openvscode-server; chmod +x ~/.local/bin/openvscode-server')] } }, finish('It is installed.')]);
  await deft.serve(undefined, { PATH: `${deft.dir}/.local/bin:${process.env.PATH}` });
  await deft.open(page);
  await page.getByRole('textbox', { name: 'Task' }).fill('Install it');
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/conversations\//);
  await expect(log(page).getByText('It is installed.')).toBeVisible();
  await panel(page, 'Apps').click();
  await page.getByRole('button', { name: 'Start VS Code' }).click();
  await expect(page.locator('.panel').getByRole('alert')).toContainText('openvscode-server did not start: it lacks a library');
});
