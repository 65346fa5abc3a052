// An OpenID Connect provider whose login page asks who one is.
import { createHash, createSign, generateKeyPairSync, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

const body = async (request: IncomingMessage): Promise<string> => {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  return text;
};

const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

export interface IdentityProvider {
  url: string;
  variables: Record<string, string>; // with which a server uses it
  close: () => void;
}

// identityProvider lets people of these names sign in.
export async function identityProvider(...people: string[]): Promise<IdentityProvider> {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const codes = new Map<string, { person: string; challenge: string; nonce: string }>();
  let base = '';
  const token = (claims: Record<string, unknown>) => {
    const text = `${encoded({ alg: 'RS256', kid: 'key' })}.${encoded(claims)}`;
    return `${text}.${createSign('RSA-SHA256').update(text).sign(privateKey).toString('base64url')}`;
  };
  const server: Server = createServer(async (request, response) => {
    const at = new URL(request.url ?? '/', base);
    const json = (status: number, value: unknown) => response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(value));
    switch (at.pathname) {
      case '/.well-known/openid-configuration':
        return json(200, {
          issuer: base,
          authorization_endpoint: `${base}/authorize`,
          token_endpoint: `${base}/token`,
          jwks_uri: `${base}/keys`,
          id_token_signing_alg_values_supported: ['RS256'],
        });
      case '/keys':
        return json(200, { keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'key', alg: 'RS256', use: 'sig' }] });
      case '/authorize': {
        const link = (name: string, answer: Record<string, string>) => {
          const to = new URL(at.searchParams.get('redirect_uri') ?? '');
          for (const [key, value] of Object.entries({ ...answer, state: at.searchParams.get('state') ?? '' })) to.searchParams.set(key, value);
          return `<p><a href="${to.href.replaceAll('&', '&amp;')}">${name}</a>`;
        };
        const links = people.map((person) => {
          const code = randomUUID();
          codes.set(code, { person, challenge: at.searchParams.get('code_challenge') ?? '', nonce: at.searchParams.get('nonce') ?? '' });
          return link(person, { code });
        });
        return response.writeHead(200, { 'Content-Type': 'text/html' }).end(links.join('') + link('Refuse', { error: 'access_denied' }));
      }
      case '/token': {
        const form = new URLSearchParams(await body(request));
        const code = codes.get(form.get('code') ?? '');
        codes.delete(form.get('code') ?? '');
        const verifier = createHash('sha256').update(form.get('code_verifier') ?? '').digest('base64url');
        if (code?.challenge !== verifier) return json(400, { error: 'invalid_grant' });
        const name = code.person.toLowerCase();
        const now = Math.floor(Date.now() / 1000);
        const claims = { iss: base, sub: name, aud: 'deft', nonce: code.nonce, iat: now, exp: now + 300, name: code.person, email: `${name}@example.org`, email_verified: true };
        return json(200, { access_token: randomUUID(), token_type: 'Bearer', expires_in: 300, id_token: token(claims) });
      }
    }
    return json(404, {});
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const variables = { DEFT_AUTH_ISSUER: base, DEFT_AUTH_NAME: 'Example', DEFT_AUTH_CLIENT_ID: 'deft', DEFT_AUTH_CLIENT_SECRET: 'of the test' };
  return { url: base, variables, close: () => server.close() };
}
