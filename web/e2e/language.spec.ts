// The page in another language.
import { clean } from './axe';
import { expect, finish, log, run, shot, status, task, test } from './deft';

test.describe('a browser in German', () => {
  test.use({ locale: 'de-DE' });

  test('gets the page in German, and English if that is chosen', async ({ deft, page }) => {
    const texts: string[] = [];
    page.on('request', (request) => /\/assets\/de-/.test(request.url()) && texts.push(request.url()));
    await deft.script([{ reply: { text: 'Ich sehe nach.', tool_calls: [run('echo hallo')] } }, finish('Alles ist getan.')]);
    await deft.serve();
    await deft.open(page);
    await expect(page.locator('html')).toHaveAttribute('lang', 'de');
    await expect(page.getByRole('heading', { level: 1 })).toHaveText('Was soll getan werden?');
    await shot(page, 'german-home');
    await page.getByRole('textbox', { name: 'Aufgabe' }).fill('Sag hallo');
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/conversations\//);
    await expect(page.getByRole('log', { name: 'Unterhaltung' })).toContainText('Alles ist getan.');
    await expect(status(page, 'Fertig')).toBeVisible();
    await expect(page.getByRole('button', { name: /^Ausführen/ })).toBeVisible();
    await shot(page, 'german-conversation');
    expect(texts.length).toBeGreaterThan(0);

    await page.goto(`${deft.url}/settings/appearance`);
    await expect(page.getByRole('navigation', { name: 'Einstellungen' })).toContainText('Darstellung');
    await shot(page, 'german-settings');
    await page.getByLabel('Sprache').selectOption('en');
    await expect(page.getByRole('navigation', { name: 'Settings' })).toContainText('Appearance');
    await expect(page.locator('html')).toHaveAttribute('lang', 'en');
    await page.getByLabel('Language').selectOption('');
    await expect(page.locator('html')).toHaveAttribute('lang', 'de');
  });

  test('has settings and panels in German, and room for their names', async ({ deft, page }) => {
    await deft.script([finish('Alles ist getan.')]);
    await deft.serve();
    await deft.open(page);
    const titles = { models: 'Profile', secrets: 'Geheimnisse', safety: 'Wann fragt der Agent?', sandbox: 'Isolation neuer Unterhaltungen', tools: 'MCP-Server', git: 'Name in Commits', keys: 'API-Schlüssel', keyboard: 'Tastatur', import: 'Von OpenHands importieren' };
    for (const [tab, title] of Object.entries(titles)) {
      await page.goto(`${deft.url}/settings/${tab}`);
      await expect(page.locator('.card').getByText(title, { exact: true }).first()).toBeVisible();
    }
    const names = page.getByRole('navigation', { name: 'Einstellungen' });
    for (const width of [1280, 1024, 900, 390]) {
      await page.setViewportSize({ width, height: 780 });
      for (const [tab, name] of [['models', 'Modelle'], ['import', 'Importieren']]) {
        await page.goto(`${deft.url}/settings/${tab}`);
        await expect(names.getByRole('link', { name })).toHaveAttribute('aria-current', 'page');
        await expect(names.getByRole('link', { name })).toBeInViewport({ ratio: 1 });
        expect(await page.locator('.settings').evaluate((all) => all.scrollWidth - all.clientWidth), 'the page scrolls sideways').toBe(0);
        await clean(page, `settings in German at ${width}`);
      }
    }
    await page.setViewportSize({ width: 1280, height: 780 });
    await page.goto(deft.url);
    await page.getByRole('textbox', { name: 'Aufgabe' }).fill('Tu es');
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/conversations\//);
    await expect(status(page, 'Fertig')).toBeVisible();
    const texts = { changes: 'Noch hat sich nichts geändert.', files: 'Hochladen', terminal: 'Umschalt+Esc führt hinaus', apps: 'Zurzeit lauscht kein Programm.', agent: 'Werkzeuge', usage: 'Eingabe-Token', events: 'MessageEvent' };
    const url = page.url();
    for (const [name, text] of Object.entries(texts)) {
      await page.goto(`${url}/${name}`);
      await expect(page.locator('aside.panel').getByText(text).first()).toBeVisible();
      await shot(page, `german-panel-${name}`);
    }
  });

  test('is in English if the texts cannot be loaded', async ({ deft, page }) => {
    await page.route(/\/assets\/de-/, (route) => route.abort());
    await deft.script([]);
    await deft.serve();
    await deft.signIn(page);
    await expect(page.getByRole('heading', { level: 1 })).toHaveText('What should be done?');
  });
});

test('a browser in English loads no other texts', async ({ deft, page }) => {
  const texts: string[] = [];
  page.on('request', (request) => /\/assets\/de-/.test(request.url()) && texts.push(request.url()));
  await task(deft, page, [finish('All is done.')], 'Do it');
  await expect(log(page)).toContainText('All is done.');
  expect(texts).toEqual([]);
});
