// MCP servers of tests.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as listener, type AddressInfo } from 'node:net';
import { homedir } from 'node:os';
import { join } from 'node:path';

export interface McpServer {
  url: string;
  close: () => Promise<unknown>;
}

const program = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'deft-deps/mcp/node_modules/@modelcontextprotocol/server-everything/dist/index.js');

export const hasEverything = existsSync(program);

async function freePort(): Promise<number> {
  const server = listener();
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  await new Promise((done) => server.close(done));
  return port;
}

// everything is the reference server of the protocol's authors, on a free port: another one where
// another program was faster to take it.
export async function everything(): Promise<McpServer> {
  for (;;) {
    const port = await freePort();
    const server = spawn(process.execPath, [program, 'streamableHttp'], { env: { PATH: process.env.PATH, PORT: String(port) } });
    const ended = new Promise((done) => server.once('exit', done));
    process.once('exit', () => server.kill('SIGKILL')); // after a test that has failed, too
    const listens = new Promise<boolean>((done) => {
      let said = '';
      server.stderr.on('data', (chunk: Buffer) => {
        said += chunk.toString();
        if (said.includes('listening on port')) done(true);
      });
      void ended.then(() => done(false));
    });
    if (await listens) return { url: `http://127.0.0.1:${port}/mcp`, close: () => (server.kill('SIGKILL'), ended) };
  }
}

// answering answers each method with a result, or with what a function makes of its parameters.
export async function answering(results: Record<string, unknown>): Promise<McpServer> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      if (request.method !== 'POST') return response.writeHead(405).end();
      const { id, method, params } = JSON.parse(Buffer.concat(chunks).toString()) as { id?: number; method: string; params?: unknown };
      if (id === undefined) return response.writeHead(202).end();
      const result = results[method] ?? {};
      response.writeHead(200, { 'Content-Type': 'application/json' });
      return response.end(JSON.stringify({ jsonrpc: '2.0', id, result: typeof result === 'function' ? (result as (params: unknown) => unknown)(params) : result }));
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`, close: () => new Promise((done) => server.close(done)) };
}
