import { AppServer } from './appServer';
import { Failure } from './failure';
import { request } from './http';
import type { Source } from './source';

// detectSource signs in, if the address has a code for that, and finds out
// which server this page came from.
export async function detectSource(): Promise<Source> {
  await signIn();
  try {
    await request('GET', '/api/v1/app-conversations/count');
    return new AppServer();
  } catch (error) {
    if (!(error instanceof Failure) || error.status !== 404) throw error;
  }
  await request('GET', '/server_info');
  const { AgentServer } = await import('./agentServer');
  return new AgentServer();
}

// signIn uses the code of the link that `deft serve` prints. It works once, and
// must not stay in the history.
async function signIn(): Promise<void> {
  const code = /^#login=([\w-]+)$/.exec(window.location.hash)?.[1];
  if (!code) return;
  window.history.replaceState(null, '', window.location.pathname + window.location.search);
  try {
    await request('POST', '/api/v1/login', { code });
  } catch (error) {
    // A link that was used signs nobody in; this browser may be signed in by now.
    if (!(error instanceof Failure) || error.status === 0) throw error;
  }
}
