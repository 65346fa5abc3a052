// Gives a test an account of `deft serve`, and a scripted LLM.
import { expect, test as base, type Locator, type Page } from '@playwright/test';
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const binary = process.env.DEFT_BIN ?? '';

// A Turn is an answer of the model, as the package internal/llmtest describes it.
export interface Turn {
  match?: Record<string, unknown>;
  repeat?: 'forever' | number;
  reply?: { text?: string; reasoning?: string; tool_calls?: { name: string; arguments?: Record<string, unknown>; raw_arguments?: string }[]; usage?: Record<string, number> };
  fault?: unknown;
  chunk_size?: number;
  chunk_delay?: string;
  latency?: string;
}

export const run = (command: string) => ({ name: 'terminal', arguments: { command } });
export const finish = (message: string): Turn => ({ reply: { tool_calls: [{ name: 'finish', arguments: { message } }] } });

const title = (latency: string): Turn => ({ match: { system: 'You name conversations' }, repeat: 'forever', latency, reply: { text: 'A short title' } });

// started waits for a line of a program's output.
function started(program: ChildProcess, line: RegExp): Promise<RegExpExecArray> {
  return new Promise((done, fail) => {
    let said = '';
    const read = (chunk: Buffer) => {
      said += chunk.toString();
      const found = line.exec(said);
      if (found) done(found);
    };
    program.stdout?.on('data', read);
    program.stderr?.on('data', read);
    program.on('exit', (code) => fail(new Error(`the program has ended with ${code}: ${said}`)));
  });
}

async function ended(program: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (program.exitCode !== null || program.signalCode !== null) return;
  await new Promise<void>((done) => {
    program.once('exit', () => done());
    program.kill(signal);
  });
}

// A Server is `deft serve` with its own directory, which is also its home.
class Server {
  url = '';
  link = ''; // signs in once
  said = '';
  readonly dir = mkdtempSync(join(tmpdir(), 'deft-web-'));
  private program: ChildProcess | null = null;

  async start(address: string, variables: NodeJS.ProcessEnv, cwd = this.dir): Promise<void> {
    const data = join(this.dir, 'data');
    mkdirSync(data, { recursive: true });
    const program = spawn(binary, ['serve', '--data', data, '--address', address], { env: { ...environment(this.dir), ...variables }, cwd });
    program.stderr.on('data', (chunk: Buffer) => (this.said += chunk.toString()));
    const [, url, code] = await started(program, /(http:\/\/\S+)\/#login=(\S+)/);
    this.program = program;
    this.url = url ?? '';
    this.link = `${url}/#login=${code}`;
  }

  async end(signal: NodeJS.Signals): Promise<void> {
    if (this.program) await ended(this.program, signal);
  }

  // addOwner stores an account with sessions of these secrets.
  addOwner(name: string, ...sessions: string[]): void {
    const insert = `
import hashlib, sqlite3, sys
database, owner, *sessions = sys.argv[1:]
with sqlite3.connect(database, timeout=60) as db:
    for secret in sessions:
        db.execute("INSERT INTO app_credentials (hash, id, owner, kind, name, created_at, used_at, expires_at) VALUES (?, ?, ?, 'cookie', '', 0, 0, 0)",
                   (hashlib.sha256(secret.encode()).hexdigest(), "id of " + secret, owner))
`;
    const done = spawnSync('python3', ['-c', insert, join(this.dir, 'data', 'events', 'app', 'app.db'), name, ...sessions]);
    expect(done.status, done.stderr.toString()).toBe(0);
  }

  async stop(): Promise<void> {
    await this.end('SIGTERM');
    spawnSync('pkill', ['-KILL', '-f', `^${this.dir}/data/`]); // sandboxes, which wait ten minutes for another server
    rmSync(this.dir, { recursive: true, force: true });
  }
}

const environment = (home: string): NodeJS.ProcessEnv => ({ PATH: process.env.PATH, HOME: home, NO_COLOR: '1' });

const bad = /panic|level=ERROR/;

// Deft is a test's part of a server: an account of its own on the server of its worker, or a
// server of its own; and the model that it uses.
export class Deft {
  url = '';
  model = '';
  readonly dir: string;
  private programs: ChildProcess[] = [];
  private readonly own: Server;
  private server: Server;
  private from = 0; // where the test begins in the log of the server
  private readonly session = randomUUID(); // the browser's
  private readonly cleaner = randomUUID(); // a session that no test ends

  // alone are tests that restart their server, or look at its directory.
  constructor(private readonly shared: Server, private readonly alone: boolean) {
    this.own = new Server();
    this.server = this.own;
    this.dir = this.own.dir;
  }

  // script starts the model. Its turns answer by the number of answers before; the title of a
  // conversation comes titleAfter a run.
  async script(turns: Turn[], titleAfter = '0s'): Promise<string> {
    const file = join(this.dir, `script-${this.programs.length}.yaml`);
    writeFileSync(file, JSON.stringify({ by_history: true, turns: [...turns, title(titleAfter)] })); // JSON is YAML
    const program = spawn(binary, ['dev', 'scripted-llm', file, '--addr', '127.0.0.1:0'], { env: environment(this.dir) });
    this.programs.push(program);
    const [, address] = await started(program, /listening on (\S+)/);
    return (this.model = `${address}/v1`);
  }

  // serve gives the test an account. One that asks for an address or for variables gets a server.
  async serve(address = '127.0.0.1:0', variables?: NodeJS.ProcessEnv): Promise<void> {
    if (this.alone || variables) {
      await this.own.start(address, variables ?? {});
    } else {
      this.server = this.shared;
      if (!this.shared.url) await this.shared.start(address, {});
      this.from = this.shared.said.length;
      this.shared.addOwner(randomUUID(), this.session, this.cleaner);
    }
    this.url = this.server.url;
  }

  // link signs in, once, to a server of the test's own.
  get link(): string {
    return this.own.link;
  }

  // serveIn starts the test's own server in a directory.
  async serveIn(directory: string): Promise<void> {
    await this.own.start('127.0.0.1:0', {}, directory);
    this.url = this.own.url;
  }

  // command runs a command of deft in a directory, on the data of the test's own server.
  command(directory: string, ...args: string[]): void {
    const env = { ...environment(this.dir), DEFT_DATA: join(this.dir, 'data'), LLM_API_KEY: 'sk-of-the-test' };
    const done = spawnSync(binary, args, { cwd: directory, env });
    expect(done.status, done.stderr.toString()).toBe(0);
  }

  // restart ends the server, by default without warning, and starts it at the same address.
  async restart(signal: NodeJS.Signals = 'SIGKILL', whileDown: () => Promise<void> = async () => {}): Promise<void> {
    expect(this.server, 'a test that restarts its server is alone').toBe(this.own);
    const address = new URL(this.url).host;
    await this.own.end(signal);
    await whileDown();
    await this.own.start(address, {});
  }

  async signIn(page: Page): Promise<void> {
    if (this.server === this.shared) {
      await this.hasCookie(page);
      await page.goto(this.url);
    } else {
      await page.goto(this.own.link);
    }
    await expect(page.getByRole('main').getByRole('heading', { level: 1 })).toBeVisible();
  }

  // open signs in as a user with the scripted model. It loads the page once.
  async open(page: Page, more: Record<string, unknown> = {}): Promise<void> {
    await this.hasCookie(page);
    await this.storeModel(page, more);
    await page.goto(this.url);
    await expect(page.getByRole('main').getByRole('heading', { level: 1 })).toBeVisible();
  }

  // setModel stores the scripted model as a user does who has the page open.
  async setModel(page: Page, more: Record<string, unknown> = {}): Promise<void> {
    await this.storeModel(page, more);
    await page.reload();
  }

  private async hasCookie(page: Page): Promise<void> {
    if (this.server === this.shared) {
      await page.context().addCookies([{ name: 'deft_session', value: this.session, url: this.url, httpOnly: true, sameSite: 'Strict' }]);
    } else {
      await this.post(page, 'login', { code: new URL(this.own.link).hash.replace('#login=', '') });
    }
  }

  private async storeModel(page: Page, more: Record<string, unknown>): Promise<void> {
    await this.post(page, 'settings', { agent_settings_diff: { llm: { model: 'openai/scripted', base_url: this.model, api_key: 'sk-of-the-test' } }, ...more });
  }

  private async post(page: Page, path: string, data: unknown): Promise<void> {
    const answer = await page.request.post(`${this.url}/api/v1/${path}`, { headers: { Origin: this.url }, data });
    expect(answer.ok(), await answer.text()).toBe(true);
  }

  // deleteAll deletes the account's conversations, with their sandboxes.
  private async deleteAll(): Promise<void> {
    const ask = async (method: string, path: string): Promise<Response> => {
      const answer = await fetch(`${this.url}/api/v1/app-conversations${path}`, { method, headers: { Cookie: `deft_session=${this.cleaner}`, Origin: this.url } });
      expect(answer.ok, `${method} ${path}: ${answer.status}`).toBe(true);
      return answer;
    };
    for (;;) {
      const { items } = (await (await ask('GET', '/search')).json()) as { items: { id: string }[] };
      if (items.length === 0) return;
      for (const { id } of items) await ask('DELETE', `/${id}`);
    }
  }

  async stop(): Promise<void> {
    if (this.server === this.shared) await this.deleteAll();
    await this.own.end('SIGTERM');
    for (const program of this.programs) await ended(program, 'SIGKILL');
    await this.own.stop();
    expect(this.server.said.slice(this.from), 'the server must not panic or report an error').not.toMatch(bad);
  }
}

interface Fixtures {
  alone: boolean; // the test has a server of its own: it restarts it, or looks at its directory
  deft: Deft;
}

interface OfWorkers {
  shared: Server; // starts with the first test that uses it
}

export const test = base.extend<Fixtures, OfWorkers>({
  alone: [false, { option: true }],
  shared: [
    async ({}, use) => {
      const server = new Server();
      await use(server);
      await server.stop();
      expect(server.said, 'the server must not panic or report an error').not.toMatch(bad);
    },
    { scope: 'worker' },
  ],
  deft: async ({ shared, alone }, use) => {
    const deft = new Deft(shared, alone);
    await use(deft);
    await deft.stop();
  },
  // The page must never do these, whatever a test is about.
  page: async ({ page }, use) => {
    const problems: string[] = [];
    page.on('pageerror', (error) => problems.push(`exception: ${error.message}`));
    page.on('console', (message) => {
      if (/Content Security Policy|Refused to/.test(message.text())) problems.push(message.text());
    });
    page.on('request', (request) => {
      const { protocol, hostname } = new URL(request.url());
      if (!['data:', 'blob:'].includes(protocol) && hostname !== '127.0.0.1') problems.push(`request to ${request.url()}`);
    });
    await use(page);
    expect(problems).toEqual([]);
  },
});

// task starts a conversation with a scripted model and opens its page.
export async function task(deft: Deft, page: Page, turns: Turn[], text: string, settings: Record<string, unknown> = {}): Promise<void> {
  await deft.script(turns);
  await deft.serve();
  await deft.open(page, settings);
  await send(page, text);
}

// send gives a task on the home page, and waits for the page of its conversation.
export async function send(page: Page, text: string): Promise<void> {
  await page.getByRole('textbox', { name: 'Task' }).fill(text);
  await page.keyboard.press('Control+Enter'); // where fingers type, Enter alone makes a new line
  await page.waitForURL(/\/conversations\//);
}

// saves changes something on the page, and waits until the server has stored it: the page shows
// it before that.
export async function saves(page: Page, change: () => Promise<void>): Promise<void> {
  const stored = page.waitForResponse((r) => r.request().method() !== 'GET');
  await change();
  await stored;
}

export const log = (page: Page) => page.getByRole('log', { name: 'Conversation' });

export { expect };

// confirming are settings with which risky actions wait for the user.
export const confirming = { conversation_settings_diff: { confirmation_mode: true, security_analyzer: 'llm' } };

export const risky = (command: string) => ({ name: 'terminal', arguments: { command, security_risk: 'HIGH' } });

export const status = (page: Page, text: string) => page.locator('.bar').getByRole('status').filter({ hasText: text });

// panel is the tab of a panel: conversations in the list may have its name in theirs.
export const panel = (page: Page, name: string) => page.getByRole('navigation', { name: 'Panels' }).getByRole('link', { name });

// painted are the words of a part of the page that have the colour of a kind.
export const painted = (part: Locator, kind: string) =>
  part.evaluate(
    (element, name) =>
      [...(CSS.highlights.get(`code-${name}`) ?? [])]
        .filter((range) => element.contains(range.startContainer))
        .map((range) => range.startContainer.textContent?.slice(range.startOffset, range.endOffset)),
    kind,
  );

// shot makes a picture of the page, for people, if DEFT_SHOTS names a directory.
export async function shot(page: Page, name: string): Promise<void> {
  const directory = process.env.DEFT_SHOTS;
  if (!directory) return;
  mkdirSync(directory, { recursive: true });
  await page.screenshot({ path: join(directory, `${name}.png`), animations: 'disabled' });
}

// variants are the ways in which a case looks at a page: each size and each theme once.
export const variants = [
  ['desktop', 'light', { width: 1280, height: 800 }],
  ['phone', 'dark', { width: 390, height: 780 }],
] as const;

// onPhone has a check run on a phone in the dark.
export async function onPhone(page: Page, check: () => Promise<void>): Promise<void> {
  const size = page.viewportSize();
  await page.emulateMedia({ colorScheme: 'dark' });
  await page.setViewportSize({ width: 390, height: 780 });
  expect(await page.evaluate(() => document.documentElement.scrollWidth), 'nothing scrolls sideways').toBeLessThanOrEqual(390);
  await check();
  await page.emulateMedia({ colorScheme: null });
  if (size) await page.setViewportSize(size);
}

// looks makes pictures of the page in light, in dark and on a phone.
export async function looks(page: Page, name: string): Promise<void> {
  if (!process.env.DEFT_SHOTS) return;
  const size = page.viewportSize();
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    await shot(page, `${name}-${colorScheme}`);
  }
  await page.setViewportSize({ width: 390, height: 844 });
  await shot(page, `${name}-phone`);
  await page.emulateMedia({ colorScheme: null });
  if (size) await page.setViewportSize(size);
}
