// What a command prints, while it runs.
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
    const directory = await log(page).getByRole('region', { name: 'Output', exact: true }).innerText();
    await before.click();

    // The output began before anybody looked.
    await line.click();
    const live = log(page).getByRole('region', { name: 'Output so far' });
    await expect(live).toHaveText('first line\n100%');
    await expect(live.getByText('first', { exact: true })).toHaveClass('ansi-red');
    await expect(line).toContainText('running');
    await clean(page, 'live output');
    await shot(page, `output-live-${name}`);

    writeFileSync(join(directory.trim(), 'go'), '');
    await expect(line).toContainText('exit 3');
    const result = log(page).getByRole('region', { name: 'Output', exact: true });
    await expect(result).toHaveText('first line\n100%\nlast line');
    await expect(result.getByText('first', { exact: true })).toHaveClass('ansi-red');
    await expect(result.getByText('last', { exact: true })).toHaveClass('ansi-green bold');
    await shot(page, `output-ended-${name}`);
    expect(sockets).toBe(1);

    // What is stored has no colours.
    await page.reload();
    await line.click();
    await expect(result).toHaveText('first line\n100%\nlast line');
    await expect(result.locator('.ansi-red')).toHaveCount(0);
    expect(sockets).toBe(1);
  });
}
