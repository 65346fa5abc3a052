// The files of the workspace: the tree, previews, upload and download.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { deflateSync } from 'node:zlib';
import { clean } from './axe';
import { expect, finish, log, panel, run, task, test } from './deft';
import type { Locator, Page } from '@playwright/test';

const shot = async (page: Page, name: string) => {
  if (process.env.DEFT_SHOTS) await page.screenshot({ path: join(process.env.DEFT_SHOTS, `${name}.png`) });
};

// png is an image of one colour.
function png(side: number): Buffer {
  const chunk = (type: string, data: Buffer) => {
    const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
    let crc = ~0;
    for (const byte of body) {
      crc ^= byte;
      for (let k = 0; k < 8; k++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
    }
    const out = Buffer.alloc(body.length + 8);
    out.writeUInt32BE(data.length);
    body.copy(out, 4);
    out.writeUInt32BE(~crc >>> 0, body.length + 4);
    return out;
  };
  const header = Buffer.alloc(13);
  header.writeUInt32BE(side, 0);
  header.writeUInt32BE(side, 4);
  header.set([8, 2, 0, 0, 0], 8);
  const rows = Buffer.concat(Array.from({ length: side }, () => Buffer.concat([Buffer.from([0]), Buffer.alloc(side * 3, 0x70)])));
  return Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), chunk('IHDR', header), chunk('IDAT', deflateSync(rows)), chunk('IEND', Buffer.alloc(0))]);
}

// pdf has a page for each text, and a script that must not run.
function pdf(...texts: string[]): Buffer {
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R /OpenAction << /S /JavaScript /JS (app.alert\\(1\\)) >> >>',
    `<< /Type /Pages /Count ${texts.length} /Kids [${texts.map((_, i) => `${4 + 2 * i} 0 R`).join(' ')}] >>`,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
  ];
  for (const text of texts) {
    const content = `BT /F1 36 Tf 40 200 Td (${text}) Tj ET 0.2 0.4 0.8 rg 40 60 120 80 re f`;
    objects.push(`<< /Type /Page /Parent 2 0 R /MediaBox [0 0 400 300] /Contents ${objects.length + 2} 0 R /Resources << /Font << /F1 3 0 R >> >> >>`);
    objects.push(`<< /Length ${content.length} >>\nstream\n${content}\nendstream`);
  }
  let body = '%PDF-1.4\n';
  const offsets = objects.map((object, i) => {
    const at = body.length;
    body += `${i + 1} 0 obj\n${object}\nendobj\n`;
    return at;
  });
  const table = offsets.map((at) => `${String(at).padStart(10, '0')} 00000 n \n`).join('');
  return Buffer.from(`${body}xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${table}trailer\n<< /Size ${objects.length + 1} /Root 1 0 R >>\nstartxref\n${body.length}\n%%EOF\n`);
}

const notebook = JSON.stringify({
  nbformat: 4,
  nbformat_minor: 5,
  metadata: {},
  cells: [
    { cell_type: 'markdown', source: ['# A study\n', '<script>document.title="owned"</script>\n', '![x](https://evil.example/a.png)'] },
    {
      cell_type: 'code',
      execution_count: 2,
      source: 'print("hello")\nplot()',
      outputs: [
        { output_type: 'stream', name: 'stdout', text: 'hello\n' },
        { output_type: 'display_data', data: { 'image/png': png(40).toString('base64') } },
        { output_type: 'display_data', data: { 'text/html': '<img src=x onerror="document.title=\'owned\'">', 'text/plain': '   a\n0  1' } },
        {
          output_type: 'execute_result',
          data: {
            'text/html':
              '<style>body { display: none }</style><table border="1" class="dataframe" style="position:fixed"><thead><tr><th></th><th>sales</th></tr></thead>' +
              '<tbody><tr><th>0</th><td>31<img src="https://evil.example/a.png"><a href="javascript:alert(1)">x</a></td></tr></tbody></table><script>document.title="owned"</script>',
            'text/plain': '   sales\n0  31',
          },
        },
        { output_type: 'display_data', data: { 'text/markdown': '| month | sold |\n|---|---|\n| Feb | 19 |\n\n<img src=x onerror="document.title=\'owned\'">', 'text/plain': '<IPython.core.display.Markdown object>' } },
        { output_type: 'display_data', data: { 'image/svg+xml': '<svg xmlns="http://www.w3.org/2000/svg" width="30" height="30"><script>parent.document.title="owned"</script><circle cx="15" cy="15" r="12"/></svg>' } },
        { output_type: 'error', ename: 'ValueError', evalue: 'no', traceback: ['\u001b[31mValueError\u001b[0m: no'] },
      ],
    },
  ],
});

const upload = (page: Page, ...files: [string, Buffer | string][]) =>
  page.locator('.panel input[type=file]').setInputFiles(files.map(([name, has]) => ({ name, mimeType: 'text/html', buffer: Buffer.from(has) })));

async function start(deft: Parameters<typeof task>[0], page: Page, command = 'true') {
  await task(deft, page, [{ reply: { tool_calls: [run(command)] } }, finish('Ready.')], 'Prepare');
  await expect(log(page).getByText('Ready.')).toBeVisible();
  await panel(page, 'Files').click();
}

for (const theme of ['light', 'dark'] as const) {
  test(`images, PDFs and notebooks are shown, and nothing in them runs: ${theme}`, async ({ deft, page }) => {
    await page.emulateMedia({ colorScheme: theme });
    if (theme === 'dark') await page.setViewportSize({ width: 390, height: 780 });
    await start(deft, page);
    const title = 'A short title · Deft'; // the model has given it
    await expect(page).toHaveTitle(title);
    await upload(
      page,
      ['photo.png', png(60)],
      ['drawing.svg', '<svg xmlns="http://www.w3.org/2000/svg" width="60" height="60" onload="parent.document.title=\'owned\'"><image href="https://evil.example/a.png"/><rect width="60" height="60" fill="teal"/></svg>'],
      ['paper.pdf', pdf('First page', 'Second page')],
      ['study.ipynb', notebook],
      ['false.pdf', '<html><script>alert(1)</script>'],
      ['broken.pdf', '%PDF-1.4 nothing'],
      ['broken.png', 'not an image'],
      ['page.html', '<script>alert(1)</script>'],
    );
    await expect(page.getByText('8 files were uploaded.')).toBeVisible();
    const open = async (name: string) => {
      await page.getByRole('button', { name: 'workspace' }).click();
      await page.getByRole('button', { name: new RegExp(`^${name}`) }).click();
    };
    for (const name of ['photo.png', 'drawing.svg']) {
      await open(name);
      await expect(page.getByRole('img', { name })).toBeVisible();
      await expect(page.getByRole('img', { name })).toHaveJSProperty('naturalWidth', 60);
    }
    await open('paper.pdf');
    await expect(page.getByText('Page 1 of 2')).toBeVisible();
    await expect(page.getByRole('region', { name: 'paper.pdf, page 1' })).toContainText('First page');
    // Something dark is where the text is: the page was drawn.
    const drawn = () => page.locator('.pdf-page canvas').evaluate((canvas: HTMLCanvasElement) => {
      const { data } = canvas.getContext('2d')!.getImageData(0, 0, canvas.width, canvas.height / 2);
      return data.some((v, i) => i % 4 === 0 && v < 100 && (data[i + 3] ?? 0) > 200);
    });
    await expect.poll(drawn).toBe(true);
    await shot(page, `files-pdf-${theme}`);
    await clean(page, 'PDF');
    await page.getByRole('region', { name: 'paper.pdf, page 1' }).focus();
    await page.keyboard.press('PageDown');
    await expect(page.getByText('Page 2 of 2')).toBeVisible();
    await expect(page.getByRole('region', { name: 'paper.pdf, page 2' })).toContainText('Second page');
    await open('study.ipynb');
    const study = page.getByRole('region', { name: 'study.ipynb' });
    await expect(study.getByRole('heading', { name: 'A study' })).toBeVisible();
    await expect(study.getByText('hello', { exact: true })).toBeVisible();
    await expect(study.getByText('ValueError: no')).toBeVisible();
    await expect(study.getByRole('img')).toHaveCount(2);
    await expect(study.getByRole('cell', { name: '31x' })).toBeVisible();
    await expect(study.getByRole('row', { name: 'Feb 19' })).toBeVisible();
    const left = async (of: Locator) => Math.round((await of.boundingBox())!.x);
    for (const table of await study.getByRole('table').all()) expect(await left(table)).toBe(await left(study.locator('.cell-output').first()));
    expect(await study.getByRole('table').first().evaluate((t) => t.outerHTML)).toBe(
      '<table tabindex="0"><thead><tr><td></td><th>sales</th></tr></thead><tbody><tr><th>0</th><td>31x</td></tr></tbody></table>',
    );
    await shot(page, `files-notebook-${theme}`);
    await clean(page, 'notebook');
    await open('false.pdf');
    await expect(page.getByRole('region', { name: 'false.pdf' })).toHaveText('<html><script>alert(1)</script>');
    await open('broken.pdf');
    await expect(page.getByText('This PDF cannot be shown.')).toBeVisible();
    await open('broken.png');
    await expect(page.getByText('This is not an image that can be shown.')).toBeVisible();
    await open('page.html');
    await expect(page.getByRole('region', { name: 'page.html' })).toHaveText('<script>alert(1)</script>');
    expect(await page.title()).toBe(title);
    expect(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth)).toBe(true);
  });
}

test('the tree opens directories, and files and directories are downloaded', async ({ deft, page }) => {
  await start(deft, page, 'mkdir -p src/deep empty && echo code > src/deep/main.c && echo top > top.txt && ln -s /etc/passwd out');
  const tree = page.getByRole('list', { name: 'Files' });
  await tree.getByRole('button', { name: 'src' }).focus();
  await page.keyboard.press('Enter');
  await tree.getByRole('button', { name: 'deep' }).click();
  await tree.getByRole('button', { name: 'empty' }).click();
  await expect(page.getByText('This directory is empty.')).toBeVisible();
  await shot(page, 'files-tree');
  await clean(page, 'tree');
  await tree.getByRole('button', { name: /^main.c/ }).click();
  await expect(page.getByRole('region', { name: 'main.c' })).toHaveText('code\n');
  let waiting = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Download', exact: true }).click();
  let download = await waiting;
  expect(download.suggestedFilename()).toBe('main.c');
  expect(readFileSync(await download.path(), 'utf8')).toBe('code\n');
  waiting = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Download this directory' }).click();
  download = await waiting;
  expect(download.suggestedFilename()).toBe('deep.tar.gz');
  // A link that leads out is not followed.
  await page.getByRole('button', { name: 'workspace' }).click();
  await page.getByRole('button', { name: /^out/ }).click();
  await expect(page.locator('.panel').getByRole('alert')).toBeVisible();
  await expect(page.getByText('root:')).toHaveCount(0);
});

test('dropped files are uploaded to the chosen directory, after a question if one is replaced', async ({ deft, page }) => {
  await start(deft, page, 'mkdir sub && echo old > sub/a.txt');
  const tree = page.getByRole('list', { name: 'Files' });
  await tree.getByRole('button', { name: 'sub' }).click();
  await expect(tree.getByRole('button', { name: /^a.txt/ })).toBeVisible();
  const drag = async (...names: string[]) => {
    const data = await page.evaluateHandle((all) => {
      const transfer = new DataTransfer();
      for (const name of all) transfer.items.add(new File([`new ${name}`], name));
      return transfer;
    }, names);
    await page.locator('.files').dispatchEvent('dragover', { dataTransfer: data });
    await expect(page.getByText('Drop files to upload them to sub')).toBeVisible();
    if (names.length === 1) await shot(page, 'files-drop');
    await page.locator('.files').dispatchEvent('drop', { dataTransfer: data });
  };
  await drag('b.txt');
  await expect(page.getByText('1 file was uploaded.')).toBeVisible();
  await expect(tree.getByRole('button', { name: /^b.txt/ })).toBeVisible();
  await drag('a.txt', 'c.txt');
  await expect(page.getByRole('dialog')).toContainText('a.txt');
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
  await expect(tree.getByRole('button', { name: /^c.txt/ })).toHaveCount(0);
  await drag('a.txt', 'c.txt');
  await page.getByRole('dialog').getByRole('button', { name: 'Replace' }).click();
  await expect(page.getByText('2 files were uploaded.')).toBeVisible();
  await tree.getByRole('button', { name: /^a.txt/ }).click();
  await expect(page.getByRole('region', { name: 'a.txt' })).toHaveText('new a.txt');
});
