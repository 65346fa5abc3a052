// Controls of a conversation beside messages.
import { clean } from './axe';
import { expect, finish, log, panel, run, shot, status, task, test } from './deft';
import type { Page } from '@playwright/test';

const menu = async (page: Page, item: string) => {
  await page.getByRole('button', { name: 'More', exact: true }).click();
  await page.getByRole('menuitem', { name: item }).click();
};

const planned = { name: 'planning_file_editor', arguments: { command: 'create', path: '.agents_tmp/PLAN.md', file_text: '# Steps\n\n1. Write it\n' } };

test('a plan is made in a thread of its own, and then carried out', async ({ deft, page }) => {
  await task(
    deft,
    page,
    [
      { match: { system: 'planning agent', assistant_turns: 0 }, reply: { tool_calls: [run('touch changed'), planned] } },
      { match: { system: 'planning agent', assistant_turns: 1 }, reply: { tool_calls: [{ name: 'finish', arguments: { message: 'PLAN.md is written.' } }] } },
      { match: { user: 'Carry out the plan' }, reply: { tool_calls: [{ name: 'finish', arguments: { message: 'The plan is carried out.' } }] } },
      finish('Ready.'),
    ],
    'Prepare',
  );
  await expect(log(page).getByText('Ready.')).toBeVisible();
  const whole = page.url();
  await menu(page, 'Plan first');
  await page.getByRole('textbox', { name: 'What to plan' }).fill('Write a poem');
  await page.getByRole('dialog').getByRole('button', { name: 'Plan', exact: true }).click();
  await expect(log(page).getByText('PLAN.md is written.')).toBeVisible();
  const bare = page.url();
  expect(bare).not.toBe(whole);
  const bar = page.getByRole('region', { name: 'Plan' });
  await expect(bar, 'the button is beside the text').toHaveCSS('display', 'flex');
  await expect(bar).toContainText('This agent plans.');
  await clean(page, 'a planning agent');
  await shot(page, 'plan');
  await panel(page, 'Plan').click();
  const written = page.getByRole('region', { name: 'The plan' });
  await expect(written.getByRole('heading', { name: 'Steps' })).toBeVisible();
  await written.getByRole('button', { name: 'Edit' }).click();
  await page.getByRole('textbox', { name: 'The plan' }).fill('# Steps\n\n1. Write a better one\n');
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(written.getByText('Write a better one')).toBeVisible();
  await clean(page, 'a plan');
  await shot(page, 'plan-panel');
  await page.goto(bare);
  await page.getByRole('link', { name: 'To the conversation that this is a part of' }).click();
  await expect(page).toHaveURL(whole);
  const threads = page.getByRole('region', { name: 'Threads' });
  await expect(threads).toContainText('plans');
  await threads.getByRole('button').first().click();
  await expect(threads.getByRole('log').getByText('PLAN.md is written.')).toBeVisible();
  await clean(page, 'a thread');
  await shot(page, 'thread');
  await threads.getByRole('link', { name: /^Open/ }).click();
  await bar.getByRole('button', { name: 'Act on the plan' }).click();
  await expect(page).toHaveURL(whole);
  await expect(log(page).getByText('The plan is carried out.')).toBeVisible();
});

test('a question aside is answered and leaves nothing behind; a goal is pursued until the judge finds it reached', async ({ deft, page }) => {
  await task(
    deft,
    page,
    [
      { match: { user: 'What is left' }, repeat: 'forever', reply: { text: 'Only the **tests**.' } },
      { match: { system: 'You judge whether' }, repeat: 'forever', reply: { text: '{"score": 1, "complete": true, "missing": ""}' } },
      { match: { user: 'All tests pass' }, ...finish('All of it.') },
      finish('Ready.'),
    ],
    'Prepare',
  );
  await expect(log(page).getByText('Ready.')).toBeVisible();
  await menu(page, 'Ask aside');
  await page.getByRole('textbox', { name: 'Question' }).fill('What is left?');
  await page.keyboard.press('Enter');
  await expect(page.getByRole('dialog').getByText('Only the tests.')).toBeVisible();
  await clean(page, 'a question aside');
  await shot(page, 'aside');
  await page.keyboard.press('Escape');
  await expect(log(page).getByText('Only the tests.')).toHaveCount(0);
  await menu(page, 'Pursue a goal');
  await page.getByRole('textbox', { name: 'Objective' }).fill('All tests pass');
  await page.keyboard.press('Enter');
  const goal = page.getByRole('region', { name: 'Goal' });
  await expect(goal).toContainText('It is reached.');
  await expect(goal, 'the button is beside the text').toHaveCSS('display', 'flex');
  await expect(log(page).getByText('All of it.')).toBeVisible();
  await clean(page, 'a goal');
  await shot(page, 'goal');
  await goal.getByRole('button', { name: 'Hide' }).click();
  await expect(goal).toBeHidden();
});

test('while the history is summarised the page says so', async ({ deft, page }) => {
  await task(deft, page, [{ match: { system: 'You keep the notes' }, latency: '3s', reply: { text: 'All went well.' } }, finish('Ready.')], 'Prepare');
  await expect(status(page, 'Finished')).toBeVisible();
  await menu(page, 'Summarise the history now');
  await expect(page.getByText('The history is being summarised')).toBeVisible();
  await log(page).getByRole('button', { name: /were summarised/ }).click();
  await expect(log(page).getByText('All went well.')).toBeVisible();
  await expect(page.getByText('The history is being summarised')).toBeHidden();
});

test('a message while the history is summarised stands once, and is answered once', async ({ deft, page }) => {
  await task(
    deft,
    page,
    [
      { match: { system: 'You keep the notes' }, latency: '3s', reply: { text: 'All went well.' } },
      { match: { user: 'meanwhile' }, repeat: 'forever', ...finish('Second.') },
      finish('Ready.'),
    ],
    'Prepare',
  );
  await expect(status(page, 'Finished')).toBeVisible();
  await menu(page, 'Summarise the history now');
  await expect(page.getByText('The history is being summarised')).toBeVisible();
  await page.getByRole('textbox', { name: 'Message' }).fill('meanwhile');
  await page.keyboard.press('Enter');
  await expect(log(page).getByText('meanwhile')).toHaveCount(1);
  await expect(page.getByRole('textbox', { name: 'Message' })).toHaveValue('');
  await expect(page.getByText('The history is being summarised')).toBeVisible();
  await expect(page.getByText('meanwhile')).toHaveCount(1);
  await expect(log(page).getByText('Second.')).toBeVisible();
  await expect(status(page, 'Finished')).toBeVisible();
  await expect(log(page).getByText('Second.')).toHaveCount(1);
});

test('a summary that fails is told once, and the next message is answered', async ({ deft, page }) => {
  await task(deft, page, [{ match: { system: 'You keep the notes' }, repeat: 'forever', fault: { kind: 'auth', message: 'no notes today' } }, finish('Ready.'), finish('Second.')], 'Prepare');
  await expect(status(page, 'Finished')).toBeVisible();
  await menu(page, 'Summarise the history now');
  await expect(log(page).getByText('The history was not summarised')).toBeVisible();
  await expect(log(page).getByRole('alert')).toContainText('no notes today');
  await expect(page.getByText('no notes today')).toHaveCount(1);
  await expect(log(page).getByRole('button', { name: 'Try again' })).toHaveCount(0); // nothing ran
  await page.getByRole('textbox', { name: 'Message' }).fill('go on');
  await page.keyboard.press('Enter');
  await expect(log(page).getByText('Second.')).toBeVisible();
  await expect(status(page, 'Finished')).toBeVisible();
});

test('the model is switched, and the history is summarised', async ({ deft, page }) => {
  await task(deft, page, [{ match: { user: 'again' }, repeat: 'forever', reply: { text: 'By the other model.' } }, finish('Ready.')], 'Prepare', {});
  await expect(log(page).getByText('Ready.')).toBeVisible();
  const saved = await page.request.post(`${deft.url}/api/v1/settings/profiles/other`, {
    headers: { Origin: deft.url },
    data: { llm: { model: 'openai/scripted-2', base_url: deft.model, api_key: 'sk-of-the-test' }, include_secrets: true },
  });
  expect(saved.ok(), await saved.text()).toBe(true);
  await menu(page, 'Switch the model');
  await page.getByRole('dialog').getByRole('button', { name: /other/ }).click();
  await expect(page.getByRole('dialog')).toBeHidden();
  await page.getByRole('textbox', { name: 'Message' }).fill('again');
  await page.keyboard.press('Enter');
  await expect(log(page).getByText('By the other model.')).toBeVisible();
  await expect(status(page, 'Finished')).toBeVisible();
});
