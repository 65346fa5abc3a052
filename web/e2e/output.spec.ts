// The output of a command while it runs.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { clean } from './axe';
import { expect, finish, log, run, shot, task, test } from './deft';

const command = String.raw`printf '\033[31mfirst\033[0m line\n'; printf '10%%\r100%%\n'; until [ -e go ]; do sleep 0.1; done; printf '\033[1;32mlast\033[0m line\n'; (exit 3)`;

for (const [name, size] of [['desktop', { width: 1280, height: 800 }], ['phone', { width: 390, height: 780 }]] as const) {
  test(`a command's output is shown while it runs, in colour, and then its exit code: ${name}`, async ({ deft, page }) => {
    await page.setViewportSize(size);
    let sockets = 0;
    page.on('websocket', (socket) => void (socket.url().includes('/sockets/output/') && sockets++));
    await task(deft, page, [{ reply: { tool_calls: [run('pwd')] } }, { reply: { tool_calls: [run(command)] } }, finish('Done.')], 'Print in colour');
    const line = log(page).getByRole('button', { name: /Run printf/ });
    await expect(line).toContainText('running');
    expect(sockets).toBe(0); // nobody looks
    const before = log(page).getByRole('button', { name: /Run pwd/ });
    await before.click();
    const directory = await log(page).getByRole('group', { name: 'Output', exact: true }).innerText();
    await before.click();

    // The output began before anybody looked.
    await line.click();
    const live = log(page).getByRole('group', { name: 'Output so far' });
    await expect(live).toHaveText('first line\n100%');
    await expect(live.getByText('first', { exact: true })).toHaveClass('ansi-red');
    await expect(line).toContainText('running');
    await clean(page, 'live output');
    await shot(page, `output-live-${name}`);

    writeFileSync(join(directory.trim(), 'go'), '');
    await expect(line).toContainText('exit 3');
    const result = log(page).getByRole('group', { name: 'Output', exact: true });
    await expect(result).toHaveText('first line\n100%\nlast line');
    await expect(result.getByText('first', { exact: true })).toHaveClass('ansi-red');
    await expect(result.getByText('last', { exact: true })).toHaveClass('ansi-green bold');
    await shot(page, `output-ended-${name}`);
    expect(sockets).toBe(1);

    // The colours are stored, and the model does not get them.
    await page.reload();
    await line.click();
    await expect(result).toHaveText('first line\n100%\nlast line');
    await expect(result.getByText('first', { exact: true })).toHaveClass('ansi-red');
    await expect(result.getByText('last', { exact: true })).toHaveClass('ansi-green bold');
    await before.click();
    await expect(log(page).getByRole('group', { name: 'Output', exact: true })).toHaveCount(2);
    await clean(page, 'stored output');
    await shot(page, `output-stored-${name}`);
    expect(sockets).toBe(1);
  });
}

test('colours of the palette, of parts and behind text are shown', async ({ deft, page }) => {
  const print = String.raw`printf '\033[38;5;208mwarm\033[0m \033[38;2;10;200;30mfresh\033[0m \033[41;97malarm\033[0m \033[7;34mturned\033[0m\n'`;
  await task(deft, page, [{ reply: { tool_calls: [run(print)] } }, finish('Done.')], 'Print in colour');
  await expect(log(page).getByText('Done.')).toBeVisible();
  await log(page).getByRole('button', { name: /Run printf/ }).click();
  const output = log(page).getByRole('group', { name: 'Output', exact: true });
  for (const [text, name] of Object.entries({ warm: 'ansi-yellow', fresh: 'ansi-green', alarm: 'ansi-red-bg', turned: 'ansi-blue-bg' })) {
    await expect(output.getByText(text)).toHaveClass(name);
  }
  await expect(output.getByText('alarm')).not.toHaveCSS('background-color', 'rgba(0, 0, 0, 0)');
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    await clean(page, `coloured output: ${colorScheme}`);
    await shot(page, `output-palette-${colorScheme}`);
  }
});
