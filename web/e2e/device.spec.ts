import { clean } from './axe';
import { expect, test } from './deft';

for (const theme of ['light', 'dark'] as const) {
  test(`a program gets a key when the user allows it: ${theme}`, async ({ deft, page }) => {
    await page.emulateMedia({ colorScheme: theme });
    await deft.serve();
    await deft.signIn(page);
    const begun = await page.request.post(`${deft.url}/oauth/device/authorize`);
    const { device_code, user_code, verification_uri_complete } = (await begun.json()) as Record<string, string>;
    const ask = async () => (await (await page.request.post(`${deft.url}/oauth/device/token`, { form: { device_code } })).json()) as Record<string, string>;

    await page.goto(`${deft.url}/device`);
    await expect(page.getByRole('button', { name: 'Allow' })).toBeDisabled();
    await page.getByLabel('The code that the program shows').fill('bcdf ghjk');
    await page.getByRole('button', { name: 'Allow' }).click();
    await expect(page.getByRole('alert')).toContainText('The code is unknown');
    await clean(page, `a wrong code ${theme}`);

    await page.goto(verification_uri_complete);
    await expect(page.getByText(user_code)).toBeVisible();
    await clean(page, `the question ${theme}`);
    if (process.env.DEFT_SHOTS) await page.screenshot({ path: `${process.env.DEFT_SHOTS}/device-${theme}.png` });
    await page.getByRole('button', { name: 'Allow' }).click();
    await expect(page.getByRole('heading', { name: 'The program is signed in' })).toBeVisible();
    const { access_token } = await ask();
    const mine = await page.request.get(`${deft.url}/api/keys/current`, { headers: { Authorization: `Bearer ${access_token}` } });
    expect(mine.ok()).toBe(true);
  });
}
