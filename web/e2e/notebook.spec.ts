// Cells of a notebook, with pictures and tables, on a real kernel of Jupyter.
import { existsSync, realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { clean } from './axe';
import { expect, finish, log, looks, onPhone, painted, send, test } from './deft';

const kernel = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'deft-deps/jupyter');

// plot draws the columns of a CSV file as bars, without a library: the environment of tests has none.
const plot = `
import csv, struct, zlib
from IPython.display import display, Image, Markdown
rows = list(csv.DictReader(open('sales.csv')))
display(Markdown('\\n'.join(['| month | sales |', '|---|---|', *(f"| {r['month']} | {r['sales']} |" for r in rows)])))
wide, high = 40 * len(rows), 80
line = lambda y: b'\\0' + b''.join(bytes([40, 90, 220] if high - y <= 2 * int(rows[x // 40]['sales']) and x % 40 > 8 else [255] * 3) for x in range(wide))
chunk = lambda kind, data: struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
display(Image(b'\\x89PNG\\r\\n\\x1a\\n' + chunk(b'IHDR', struct.pack('>2I5B', wide, high, 8, 2, 0, 0, 0)) + chunk(b'IDAT', zlib.compress(b''.join(map(line, range(high))))) + chunk(b'IEND', b'')))
class Frame:  # as a DataFrame of pandas shows itself
    _repr_html_ = lambda self: '<table class="dataframe"><tr><th>month</th><td>Mar &amp; Apr</td></tr></table><script>document.title="owned"</script>'
    __repr__ = lambda self: 'month  Mar & Apr'
display(Frame())
`;
const cell = (code: string) => ({ reply: { tool_calls: [{ name: 'ipython', arguments: { code } }] } });

test('a cell shows its text, its table and its picture; the next one has its variables, and one that died says so', async ({ deft, page }) => {
  test.skip(!existsSync(kernel) && process.env.CI !== 'true', 'there is no kernel: make deps');
  const python = dirname(dirname(realpathSync(join(kernel, 'bin/python3'))));
  const base_url = await deft.script([
    cell("open('sales.csv', 'w').write('month,sales\\nJan,12\\nFeb,19\\nMar,31\\n')"),
    cell(plot),
    cell('import os; os._exit(9) if rows else None'),
    cell("'rows' in globals()"),
    finish('Plotted.'),
  ]);
  const readable = python.startsWith('/usr') ? [kernel] : [kernel, python];
  await deft.serve(undefined, { PATH: `${kernel}/bin:${process.env.PATH}`, DEFT_SANDBOX_READ: readable.join(':') });
  await deft.open(page, { agent_settings_diff: { llm: { model: 'openai/scripted', base_url, api_key: 'sk-of-the-test' }, tools: [{ name: 'ipython' }] } });
  await send(page, 'Plot the sales');
  await expect(log(page).getByText('Plotted.')).toBeVisible();
  const cells = log(page).getByRole('button', { name: /Run Python/ });
  await expect(cells).toHaveCount(4);
  await cells.nth(1).click();
  await expect(log(page).getByRole('group', { name: 'Output', exact: true })).toContainText('| Feb | 19 |');
  const picture = log(page).getByRole('img', { name: 'Picture 1 of the result' });
  await expect(picture).toBeVisible();
  expect(await picture.evaluate((img: HTMLImageElement) => [img.naturalWidth, img.naturalHeight])).toEqual([120, 80]);
  const code = log(page).locator('pre.code').first();
  await expect(code).toHaveText(plot.trim());
  await expect.poll(() => painted(code, 'keyword')).toEqual(expect.arrayContaining(['import', 'from', 'lambda', 'for']));
  await expect(log(page).getByRole('cell', { name: 'Mar & Apr' })).toBeVisible();

  // The page asks for all of it; clients of OpenHands read the text only.
  const id = /conversations\/([^/?#]+)/.exec(page.url())?.[1];
  const read = async (query: string) => (await page.request.get(`${deft.url}/api/v1/conversation/${id}/events/search?limit=100${query}`)).text();
  expect(await read('')).toMatch(/"kind":"MCPToolAction"(?!.*IPython)(?!.*"(tables|markdown)":)/);
  expect(await read('&own_kinds=true')).toMatch(/"kind":"IPythonAction".*"tables":/);
  expect(await read('&own_kinds=perhaps')).toContain('bool_parsing');
  await page.reload();
  await cells.nth(1).click();
  await expect(log(page).getByRole('cell', { name: 'Mar & Apr' })).toBeVisible();
  await expect(log(page).getByRole('row', { name: 'Feb 19' })).toBeVisible();
  await expect(page).not.toHaveTitle('owned');
  await clean(page, 'a cell');
  await looks(page, 'notebook');
  await onPhone(page, () => clean(page, 'a cell on a phone'));
  await cells.nth(1).click();
  await cells.nth(2).click();
  await expect(log(page).getByText('The kernel has died (exit status 9). The next cell has a fresh kernel')).toBeVisible();
  await cells.nth(3).click();
  await expect(log(page).getByRole('group', { name: 'Output', exact: true }).last()).toContainText('False');
});
