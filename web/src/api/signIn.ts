import { queryOptions } from '@tanstack/react-query';
import { forgetEarly } from './early';
import { Failure } from './failure';
import { tr } from '../i18n/text';
import { request, upload } from './http';

// signedInQuery signs in, if the address has a code for that, and fails where the server does
// not answer or does not know this browser.
export const signedInQuery = queryOptions({ queryKey: ['signed-in'], queryFn: signIn, staleTime: Infinity });

async function signIn(): Promise<true> {
  const used = await spendCode();
  try {
    await request('GET', '/api/v1/app-conversations/count');
  } catch (error) {
    if (used && error instanceof Failure && error.unauthorized) throw new UsedLink();
    throw error;
  }
  return true;
}

// Provider is the identity provider at which people sign in.
export interface Provider {
  name: string;
  url: string;
}

// providerQuery is null where the printed link alone signs in.
export const providerQuery = queryOptions({
  queryKey: ['sign-in'],
  queryFn: async () => (await request<{ provider: Provider | null }>('GET', '/api/v1/sign-in')).provider,
});

// signInAddress is where a browser signs in, and comes back to the page that it shows.
export const signInAddress = (p: Provider): string => `${p.url}?to=${encodeURIComponent(window.location.pathname + window.location.search)}`;

const reasons: Record<string, string> = {
  denied: tr('You were not signed in: your account may not use this server, or you have refused. The administrator of the server can let you in.'),
  ended: tr('The sign-in took too long, or began in another browser. Sign in once more.'),
  unavailable: tr('The identity provider does not answer as it should. Try again in a minute; if that does not help, tell the administrator of the server.'),
  failed: tr('You could not be signed in: the server has written why to its log.'),
};

// failedSignIn is why the last sign-in has failed, in words; empty: it has not.
export const failedSignIn = (): string => reasons[/^#sign-in=(\w+)$/.exec(window.location.hash)?.[1] ?? ''] ?? '';

export interface Account {
  id: string;
  name: string; // empty for the owner of the machine
  email: string;
}

export const accountQuery = queryOptions({ queryKey: ['account'], queryFn: () => request<Account>('GET', '/api/v1/account') });

export interface Session {
  id: string;
  device: string;
  created_at: string;
  used_at: string | null;
  current: boolean;
}

export const sessionsQuery = queryOptions({ queryKey: ['sessions'], queryFn: () => request<Session[]>('GET', '/api/v1/sessions') });

export async function endSession(id: string): Promise<void> {
  await request('DELETE', `/api/v1/sessions/${id}`);
}

export async function endOtherSessions(): Promise<void> {
  await request('DELETE', '/api/v1/sessions');
}

// signOut ends this browser's session, and loads the page anew.
export async function signOut(): Promise<void> {
  await request('POST', '/api/logout');
  window.location.assign('/');
}

// UsedLink is the failure of a link that signs nobody in any more.
export class UsedLink extends Failure {
  constructor() {
    super(401, tr('This link was used before, or is too old. Each link signs in once: open the newest one that Deft has printed.'));
  }
}

const code = (): string | undefined => /^#login=([\w-]+)$/.exec(window.location.hash)?.[1];

// onLink calls a function when a link that signs in is pasted into this tab, which does not load
// the page anew.
export function onLink(open: () => void): () => void {
  const changed = () => code() && open();
  window.addEventListener('hashchange', changed);
  return () => window.removeEventListener('hashchange', changed);
}

// spendCode uses the code of the link that `deft serve` prints. It works once, and must not stay
// in the history. It reports whether the server has refused it.
async function spendCode(): Promise<boolean> {
  const given = code();
  if (!given) return false;
  forgetEarly();
  window.history.replaceState(null, '', window.location.pathname + window.location.search);
  try {
    await request('POST', '/api/v1/login', { code: given });
    return false;
  } catch (error) {
    // A used link signs nobody in; this browser may be signed in by now.
    if (!(error instanceof Failure) || error.status === 0) throw error;
    return true;
  }
}

// allowDevice lets the program that shows a code work in the user's name.
export async function allowDevice(code: string): Promise<void> {
  await upload('/oauth/device/verify-authenticated', new URLSearchParams({ user_code: code }));
}
