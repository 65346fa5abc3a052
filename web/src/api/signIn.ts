import { queryOptions } from '@tanstack/react-query';
import { Failure } from './failure';
import { request } from './http';

// signedInQuery signs in, if the address has a code for that, and fails where the server does
// not answer or does not know this browser.
export const signedInQuery = queryOptions({ queryKey: ['signed-in'], queryFn: signIn, staleTime: Infinity });

async function signIn(): Promise<true> {
  await spendCode();
  await request('GET', '/api/v1/app-conversations/count');
  return true;
}

// spendCode uses the code of the link that `deft serve` prints. It works once, and must not stay
// in the history.
async function spendCode(): Promise<void> {
  const code = /^#login=([\w-]+)$/.exec(window.location.hash)?.[1];
  if (!code) return;
  window.history.replaceState(null, '', window.location.pathname + window.location.search);
  try {
    await request('POST', '/api/v1/login', { code });
  } catch (error) {
    // A used link signs nobody in; this browser may be signed in by now.
    if (!(error instanceof Failure) || error.status === 0) throw error;
  }
}
