import createClient, { type Client, type Middleware } from 'openapi-fetch';
import { takeEarly, type Early } from './early';
import { Failure, readFailure } from './failure';
import type { paths } from './generated/agent-server';
import { tr } from '../i18n/text';

export type AgentServerClient = Client<paths>;

// request asks a route of the same origin, with JSON both ways.
export async function request<T>(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<T> {
  let head: Response;
  let text: string;
  try {
    ({ head, text } = await ((method === 'GET' && takeEarly(path)) || ask(method, path, body, headers)));
  } catch {
    throw new Failure(0, tr('The server cannot be reached.'));
  }
  if (!head.ok) throw await readFailure(new Response(text, head));
  return (text === '' ? undefined : JSON.parse(text)) as T;
}

// mostKept is how long a body may be whose request outlives the page; browsers allow 64 KiB
// for all of them together (Fetch Standard, 4.6).
const mostKept = 8 << 10;

async function ask(method: string, path: string, body: unknown, headers: Record<string, string>): Promise<Early> {
  const text = body === undefined ? undefined : JSON.stringify(body);
  const head = await fetch(path, {
    method,
    headers: { ...(text === undefined ? {} : { 'Content-Type': 'application/json' }), ...headers },
    body: text,
    // A change is not lost when the page is left or loaded again at once.
    keepalive: method !== 'GET' && (text ?? '').length < mostKept,
  });
  return { head, text: await head.text() };
}

// download returns the content of an answer that is not JSON.
export async function download(path: string, headers: Record<string, string> = {}): Promise<Blob> {
  const response = await fetch(path, { headers });
  if (!response.ok) throw await readFailure(response);
  return response.blob();
}

// upload sends content that is not JSON.
export async function upload(path: string, body: BodyInit, headers: Record<string, string> = {}): Promise<Response> {
  const response = await fetch(path, { method: 'POST', headers, body });
  if (!response.ok) throw await readFailure(response);
  return response;
}

// agentServerClient is typed by the agent server's contract. It throws a
// Failure for every answer that is not a success.
export function agentServerClient(sessionKey: string | null): AgentServerClient {
  const client = createClient<paths>({ baseUrl: window.location.origin });
  const middleware: Middleware = {
    onRequest({ request: outgoing }) {
      if (sessionKey) outgoing.headers.set('X-Session-API-Key', sessionKey);
      return outgoing;
    },
    async onResponse({ response }) {
      if (!response.ok) throw await readFailure(response);
    },
    onError({ error }) {
      return error instanceof Failure ? error : new Failure(0, tr('The server cannot be reached.'));
    },
  };
  client.use(middleware);
  return client;
}

// query makes a query string of the values that are set.
export function query(values: Record<string, string | number | boolean | undefined | null>): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (value !== undefined && value !== null && value !== '') params.set(name, String(value));
  }
  const text = params.toString();
  return text && `?${text}`;
}
