import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { Failure } from './api/failure';
import { App } from './app';
import './design/tokens.css';
import './design/base.css';
import './shell.css';

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 2000,
      // What the server refuses it refuses again; what it could not answer may work.
      retry: (count, error) => count < 3 && (!(error instanceof Failure) || error.status === 0 || error.status >= 500),
    },
  },
});

const root = document.getElementById('root');
if (!root) throw new Error('the page has no root');
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <App />
    </QueryClientProvider>
  </StrictMode>,
);
