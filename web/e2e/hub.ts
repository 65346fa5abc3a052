// A GitHub Enterprise server with the repository octocat/hello, by git's own backend.
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';

export const hubToken = 'ghp-0123456789abcdefghij';

export interface Hub {
  url: string;
  pulls: Record<string, unknown>[]; // pull requests as they were sent
  log: (branch: string) => string; // titles of the commits of a branch
  close: () => Promise<void>;
}

export async function startHub(): Promise<Hub> {
  const dir = mkdtempSync(join(tmpdir(), 'deft-hub-'));
  const repository = join(dir, 'octocat', 'hello.git');
  const work = join(dir, 'work');
  mkdirSync(work);
  const env = { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null' };
  execFileSync(
    'sh',
    ['-c', 'git init -q -b main . && echo hello > README && git add . && git -c user.name=t -c user.email=t@example.com commit -qm one && git clone -q --bare . "$0" && git -C "$0" config http.receivepack true', repository],
    { cwd: work, env },
  );
  const pulls: Record<string, unknown>[] = [];
  const found = { id: 7, full_name: 'octocat/hello', private: true, default_branch: 'main', owner: { type: 'User' } };
  const answers: Record<string, unknown> = { '/api/v3/user': { id: 1, login: 'octocat' }, '/api/v3/user/repos': [found], '/api/v3/repos/octocat/hello': found };
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '', 'http://x');
    const basic = Buffer.from(/^Basic (.+)$/.exec(request.headers.authorization ?? '')?.[1] ?? '', 'base64').toString();
    if (request.headers.authorization !== `Bearer ${hubToken}` && !basic.endsWith(`:${hubToken}`)) {
      response.writeHead(401, { 'WWW-Authenticate': 'Basic realm="hub"', 'Content-Type': 'application/json' });
      response.end('{"message": "Bad credentials"}');
      return;
    }
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const raw = Buffer.concat(chunks);
      if (pathname.startsWith('/octocat/')) return backend(dir, request, request.headers['content-encoding'] === 'gzip' ? gunzipSync(raw) : raw, response);
      let answer = answers[pathname];
      if (request.method === 'POST' && pathname === '/api/v3/repos/octocat/hello/pulls') {
        pulls.push(JSON.parse(raw.toString()) as Record<string, unknown>);
        answer = { number: 42, html_url: 'https://github.example.com/octocat/hello/pull/42' };
      }
      response.writeHead(answer ? (request.method === 'POST' ? 201 : 200) : 404, { 'Content-Type': 'application/json' });
      response.end(JSON.stringify(answer ?? { message: 'Not Found' }));
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    pulls,
    log: (branch) => execFileSync('git', ['-C', repository, 'log', '--format=%s', branch], { env }).toString(),
    close: async () => {
      await new Promise((done) => server.close(done));
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

// backend answers for a repository by git's CGI program.
function backend(dir: string, request: IncomingMessage, body: Buffer, response: ServerResponse): void {
  const url = new URL(request.url ?? '', 'http://x');
  const program = spawn('git', ['http-backend'], {
    env: {
      PATH: process.env.PATH,
      GIT_PROJECT_ROOT: dir,
      GIT_HTTP_EXPORT_ALL: '1',
      GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
      PATH_INFO: url.pathname,
      QUERY_STRING: url.search.slice(1),
      REQUEST_METHOD: request.method,
      CONTENT_TYPE: request.headers['content-type'] ?? '',
      CONTENT_LENGTH: String(body.length),
      REMOTE_USER: 'octocat',
    },
  });
  const out: Buffer[] = [];
  program.stdout.on('data', (chunk: Buffer) => out.push(chunk));
  program.on('close', () => {
    const all = Buffer.concat(out);
    const end = all.indexOf('\r\n\r\n');
    const headers = all
      .subarray(0, end)
      .toString()
      .split('\r\n')
      .map((line): [string, string] => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()]);
    const status = headers.find(([name]) => name === 'Status')?.[1];
    response.writeHead(Number(status?.slice(0, 3) ?? 200), Object.fromEntries(headers.filter(([name]) => name !== 'Status')));
    response.end(all.subarray(end + 4));
  });
  program.stdin.on('error', () => {}); // git may end without reading a body that it does not need
  program.stdin.end(body);
}
