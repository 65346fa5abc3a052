// An MCP server that wants a login, with its authorization server, whose login page asks for a click.
import { createHash, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

const body = async (request: IncomingMessage): Promise<string> => {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  return text;
};

export interface LoginServer {
  url: string; // the MCP server's
  secrets: string[]; // codes and tokens that it has given out
  close: () => void;
}

export async function loginServer(): Promise<LoginServer> {
  const secrets: string[] = [];
  const give = (kind: string) => {
    const secret = `${kind}-${randomUUID()}`;
    secrets.push(secret);
    return secret;
  };
  const codes = new Map<string, string>(); // their challenges
  let base = '';
  const server: Server = createServer(async (request, response) => {
    const at = new URL(request.url ?? '/', base);
    const json = (status: number, value: unknown, headers: Record<string, string> = {}) =>
      response.writeHead(status, { 'Content-Type': 'application/json', ...headers }).end(JSON.stringify(value));
    switch (at.pathname) {
      case '/.well-known/oauth-protected-resource/mcp':
        return json(200, { resource: `${base}/mcp`, authorization_servers: [base] });
      case '/.well-known/oauth-authorization-server':
        return json(200, {
          issuer: base,
          authorization_endpoint: `${base}/authorize`,
          token_endpoint: `${base}/token`,
          registration_endpoint: `${base}/register`,
          response_types_supported: ['code'],
          code_challenge_methods_supported: ['S256'],
        });
      case '/register':
        return json(201, { ...(JSON.parse(await body(request)) as object), client_id: 'client' });
      case '/authorize': {
        const code = give('code');
        codes.set(code, at.searchParams.get('code_challenge') ?? '');
        const back = (answer: Record<string, string>) => {
          const to = new URL(at.searchParams.get('redirect_uri') ?? '');
          for (const [name, value] of Object.entries({ ...answer, state: at.searchParams.get('state') ?? '' })) to.searchParams.set(name, value);
          return to.href.replaceAll('&', '&amp;');
        };
        return response.writeHead(200, { 'Content-Type': 'text/html' }).end(`<a href="${back({ code })}">Allow</a> <a href="${back({ error: 'access_denied' })}">Deny</a>`);
      }
      case '/token': {
        const form = new URLSearchParams(await body(request));
        const verifier = createHash('sha256').update(form.get('code_verifier') ?? '').digest('base64url');
        if (codes.get(form.get('code') ?? '') !== verifier) return json(400, { error: 'invalid_grant' });
        return json(200, { access_token: give('access'), refresh_token: give('refresh'), token_type: 'Bearer', expires_in: 3600 });
      }
      case '/mcp': {
        if (!secrets.includes((request.headers.authorization ?? '').replace('Bearer ', ''))) return json(401, {}, { 'WWW-Authenticate': 'Bearer' });
        const message = JSON.parse((await body(request)) || '{}') as { id?: number };
        if (message.id === undefined) return response.writeHead(request.method === 'POST' ? 202 : 405).end();
        return json(200, {
          jsonrpc: '2.0',
          id: message.id,
          result: { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'tracker', version: '1' }, tools: [{ name: 'issues', inputSchema: { type: 'object' } }] },
        });
      }
    }
    return json(404, {});
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url: `${base}/mcp`, secrets, close: () => server.close() };
}
