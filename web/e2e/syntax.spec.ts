// Code has the colours of its language: in messages, files and diffs.
import { clean } from './axe';
import { expect, finish, log, painted, panel, run, shot, task, test, variants, type Turn } from './deft';

const before = `package cart

/*
Total sums prices.
It knows
no discount
and no
taxes.
*/
func Total(prices []int) int {
	sum := 0
	for i := 0; i < len(prices)-1; i++ {
		sum += prices[i] // the price
	}
	return sum
}
`;
const after = before.replace('no discount', 'a discount').replace('len(prices)-1', 'len(prices)').replace('// the price', "// isn't free");

const story: Turn[] = [
  { reply: { tool_calls: [run(`git init -q . && cat > cart.go <<'END'\n${before}END\ngit add -A && git -c user.name=a -c user.email=a@b commit -qm a && echo "in $PWD"`)] } },
  {
    reply: {
      text: 'I mend the loop:\n\n```go\nfor i := range prices { // each\n\tsum += "1"\n}\n```\n\nand leave\n\n```\nfor this\n```',
      tool_calls: [{ name: 'file_editor', arguments: { command: 'create', path: '{{find "in (/[^ \\n]+)" .LastToolResult}}/page.html', file_text: '<script>const a = "x";</script>\n<p title="b">text</p>\n' } }, run(`cat > cart.go <<'END'\n${after}END`)],
    },
  },
  finish('Done.'),
];

for (const [name, theme, size] of variants) {
  test(`code in messages, files and diffs has colours: ${name}`, async ({ deft, page }) => {
    await page.emulateMedia({ colorScheme: theme });
    await page.setViewportSize(size);
    await task(deft, page, story, 'Mend this:\n\n```python\ndef total(): return 1\n```');
    await expect(log(page).getByText('Done.')).toBeVisible();
    await expect.poll(() => painted(log(page).locator('.message.user'), 'keyword')).toEqual(['def', 'return']);
    const said = log(page).locator('.message.agent').first();
    await expect.poll(() => painted(said, 'keyword')).toEqual(['for', 'range']);
    expect(await painted(said, 'comment')).toEqual(['// each']);
    expect(await painted(said, 'string')).toEqual(['"1"']);
    await clean(page, 'code in messages');
    await shot(page, `syntax-message-${name}`);

    const edit = log(page).getByRole('button', { name: /Create .*page.html/ });
    await edit.click();
    const created = log(page).getByRole('group', { name: /Changes of .*page.html/ });
    await expect.poll(() => painted(created, 'keyword')).toContain('const');
    await expect(created.locator('script')).toHaveCount(0);
    await edit.click();

    await panel(page, 'Changes').click();
    await page.getByRole('button', { name: /changed .*cart.go/ }).click();
    const diff = page.getByRole('group', { name: /Changes of .*cart.go/ });
    for (const split of [false, true]) {
      await page.getByLabel('Side by side').setChecked(split);
      // The comment begins above the shown lines; the apostrophe of one side begins no text.
      await expect.poll(() => painted(diff, 'comment')).toEqual(expect.arrayContaining(['no discount', 'a discount', '// the price', "// isn't free"]));
      expect(await painted(diff, 'keyword')).toEqual(expect.arrayContaining(['func', 'for', 'return']));
      expect(await painted(diff, 'string')).toEqual([]);
      await clean(page, 'a diff');
      await shot(page, `syntax-diff-${split ? 'split' : 'unified'}-${name}`);
    }

    await panel(page, 'Files').click();
    await page.getByRole('button', { name: /^page.html/ }).click();
    const file = page.getByRole('region', { name: 'page.html', exact: true });
    await expect.poll(() => painted(file, 'attribute')).toEqual(['title']);
    expect(await painted(file, 'string')).toEqual(['"x"', '"b"']);
    await expect(file.locator('*')).toHaveCount(0);
    await clean(page, 'a file');
    await shot(page, `syntax-file-${name}`);
  });
}

test('large files stay plain, and pages without code load no reader of it', async ({ deft, page }) => {
  const readers: string[] = [];
  page.on('request', (request) => void (/\/assets\/worker-/.test(request.url()) && readers.push(request.url())));
  await task(deft, page, [{ reply: { tool_calls: [run('seq -f "if %g: return" 20000 > large.py && echo "if 1: return" > small.py')] } }, finish('Done.\n\n```\nif this\n```')], 'Write');
  await expect(log(page).getByText('Done.')).toBeVisible();
  await panel(page, 'Files').click();
  await page.getByRole('button', { name: /^large.py/ }).click();
  const large = page.getByRole('region', { name: 'large.py', exact: true });
  await expect(large).toContainText('if 20000: return');
  expect(readers).toEqual([]);
  await page.getByRole('button', { name: 'workspace' }).click();
  await page.getByRole('button', { name: /^small.py/ }).click();
  const small = page.getByRole('region', { name: 'small.py', exact: true });
  await expect.poll(() => painted(small, 'keyword')).toEqual(['if', 'return']);
  expect(readers).toHaveLength(1);
});
