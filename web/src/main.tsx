import { MutationCache, QueryCache, QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { Failure } from './api/failure';
import { modelQuery } from './api/models';
import { signedInQuery } from './api/signIn';
import { conversationQuery } from './api/conversations';
import { App, conversationAt, ConversationPage } from './app';
import { watchTyping } from './design/typing';
import './design/tokens.css';
import './design/base.css';
import './shell.css';
import './design/touch.css';

// lookAgain asks whether the browser is still signed in, where an answer says that it is not. If so,
// the page offers to sign in; drafts are kept.
function lookAgain(error: Error, key: readonly unknown[] = []): void {
  if (!(error instanceof Failure && error.unauthorized) || key[0] === signedInQuery.queryKey[0]) return;
  void queries.invalidateQueries({ queryKey: signedInQuery.queryKey });
}

const queries: QueryClient = new QueryClient({
  queryCache: new QueryCache({ onError: (error, query) => lookAgain(error, query.queryKey) }),
  mutationCache: new MutationCache({ onError: (error) => lookAgain(error) }),
  defaultOptions: {
    queries: {
      staleTime: 2000,
      // A refused request is refused again; a failed one may work.
      retry: (count, error) => count < 3 && (!(error instanceof Failure) || error.status === 0 || error.status >= 500),
    },
  },
});

const root = document.getElementById('root');
if (!root) throw new Error('the page has no root');

// ask gets the content of the first page, so that it is drawn once and not with each answer.
// A component repeats a failed question, and shows the failure.
async function ask(): Promise<void> {
  const { pathname } = window.location;
  if (pathname.startsWith('/shared/')) return;
  const conversation = conversationAt(pathname);
  const script = conversation && ConversationPage.preload().catch(() => {});
  await queries.prefetchQuery({ ...signedInQuery, retry: false });
  const signedIn = queries.getQueryData(signedInQuery.queryKey);
  if (signedIn && pathname === '/') await queries.prefetchQuery({ ...modelQuery, retry: false });
  if (signedIn && conversation) await queries.prefetchQuery({ ...conversationQuery(conversation), retry: false });
  await script;
}

watchTyping();

// Not awaited at the top: modules that are loaded later import this one.
void ask().then(() =>
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={queries}>
        <App />
      </QueryClientProvider>
    </StrictMode>,
  ),
);
