// Starts `deft serve` and a scripted LLM for a test.
import { expect, test as base, type Page } from '@playwright/test';
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const binary = process.env.DEFT_BIN ?? '';

// A Turn is an answer of the model, as the package internal/llmtest describes it.
export interface Turn {
  match?: Record<string, unknown>;
  repeat?: 'forever' | number;
  reply?: { text?: string; reasoning?: string; tool_calls?: { name: string; arguments: Record<string, unknown> }[]; usage?: Record<string, number> };
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

// Deft is a server with its own directory, and the model that it uses.
export class Deft {
  url = '';
  readonly dir = mkdtempSync(join(tmpdir(), 'deft-web-'));
  model = '';
  said = '';
  private link = '';
  private programs: ChildProcess[] = [];
  private server: ChildProcess | null = null;

  // script starts the model. Its turns answer by the number of answers before; the title of a
  // conversation comes titleAfter a run.
  async script(turns: Turn[], titleAfter = '0s'): Promise<string> {
    const file = join(this.dir, `script-${this.programs.length}.yaml`);
    writeFileSync(file, JSON.stringify({ by_history: true, turns: [...turns, title(titleAfter)] })); // JSON is YAML
    const program = spawn(binary, ['dev', 'scripted-llm', file, '--addr', '127.0.0.1:0'], { env: this.environment() });
    this.programs.push(program);
    const [, address] = await started(program, /listening on (\S+)/);
    return (this.model = `${address}/v1`);
  }

  private environment(): NodeJS.ProcessEnv {
    return { PATH: process.env.PATH, HOME: this.dir, NO_COLOR: '1' };
  }

  async serve(address = '127.0.0.1:0', variables: NodeJS.ProcessEnv = {}): Promise<void> {
    const data = join(this.dir, 'data');
    mkdirSync(data, { recursive: true });
    const server = spawn(binary, ['serve', '--data', data, '--address', address], { env: { ...this.environment(), ...variables }, cwd: this.dir });
    server.stderr.on('data', (chunk: Buffer) => (this.said += chunk.toString()));
    const [, url, code] = await started(server, /(http:\/\/\S+)\/#login=(\S+)/);
    this.server = server;
    this.url = url ?? '';
    this.link = `${url}/#login=${code}`;
  }

  // restart ends the server, by default without warning, and starts it at the same address.
  async restart(signal: NodeJS.Signals = 'SIGKILL', whileDown: () => Promise<void> = async () => {}): Promise<void> {
    const address = new URL(this.url).host;
    if (this.server) await ended(this.server, signal);
    await whileDown();
    await this.serve(address);
  }

  async signIn(page: Page): Promise<void> {
    await page.goto(this.link);
    await expect(page.getByRole('main').getByRole('heading', { level: 1 })).toBeVisible();
  }

  // setModel stores the scripted model as the user's, without the page.
  async setModel(page: Page, more: Record<string, unknown> = {}): Promise<void> {
    const answer = await page.request.post(`${this.url}/api/v1/settings`, {
      headers: { Origin: this.url },
      data: { agent_settings_diff: { llm: { model: 'openai/scripted', base_url: this.model, api_key: 'sk-of-the-test' } }, ...more },
    });
    expect(answer.ok(), await answer.text()).toBe(true);
    await page.reload();
  }

  async stop(): Promise<void> {
    if (this.server) await ended(this.server, 'SIGTERM');
    for (const program of this.programs) await ended(program, 'SIGKILL');
    spawnSync('pkill', ['-KILL', '-f', `^${this.dir}/data/`]); // sandboxes, which wait ten minutes for another server
    rmSync(this.dir, { recursive: true, force: true });
  }
}

// What the page must never do, whatever a test is about.
interface Fixtures {
  deft: Deft;
}

export const test = base.extend<Fixtures>({
  deft: async ({}, use) => {
    const deft = new Deft();
    await use(deft);
    await deft.stop();
    expect(deft.said, 'the server must not panic or report an error').not.toMatch(/panic|level=ERROR/);
  },
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
  await deft.signIn(page);
  await deft.setModel(page, settings);
  await page.getByRole('textbox', { name: 'Task' }).fill(text);
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/conversations\//);
}

export const log = (page: Page) => page.getByRole('log', { name: 'Conversation' });

export { expect };

// confirming are settings with which risky actions wait for the user.
export const confirming = { conversation_settings_diff: { confirmation_mode: true, security_analyzer: 'llm' } };

export const risky = (command: string) => ({ name: 'terminal', arguments: { command, security_risk: 'HIGH' } });

export const status = (page: Page, text: string) => page.locator('.bar').getByRole('status').filter({ hasText: text });

// panel is the tab of a panel: conversations in the list may have its name in theirs.
export const panel = (page: Page, name: string) => page.getByRole('navigation', { name: 'Panels' }).getByRole('link', { name });

// shot makes a picture of the page, for people, if DEFT_SHOTS names a directory.
export async function shot(page: Page, name: string): Promise<void> {
  const directory = process.env.DEFT_SHOTS;
  if (!directory) return;
  mkdirSync(directory, { recursive: true });
  await page.screenshot({ path: join(directory, `${name}.png`), animations: 'disabled' });
}
