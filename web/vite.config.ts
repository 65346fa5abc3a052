import react from '@vitejs/plugin-react';
import { defineConfig } from 'vitest/config';

// The server that `npm run dev` forwards to: `deft serve`.
const server = process.env.DEFT_SERVER ?? 'http://127.0.0.1:8000';

export default defineConfig({
  plugins: [react({ jsxImportSource: '#design' })], // src/design/jsx-runtime.ts,
  build: {
    target: 'es2022',
    sourcemap: false,
    modulePreload: { polyfill: false },
    manifest: true, // for scripts/check-build.mjs
    assetsInlineLimit: 0, // the policy of the page forbids scripts in data URLs
    rolldownOptions: {
      output: {
        codeSplitting: {
          // One file for the first load and one for conversations: each file is a request.
          groups: [
            { name: 'index', test: /src\/main\.tsx$|rolldown\/runtime/, priority: 2 },
            { name: 'conversation', test: /ConversationPage\.tsx$/, priority: 1 },
          ],
        },
      },
    },
    license: { fileName: 'LICENSES.md' },
  },
  server: {
    proxy: {
      '/api': { target: server },
      '/sockets': { target: server, ws: true },
    },
  },
  // The modules have no state that a test leaves, so all files share them: a third of the work.
  test: { environment: 'node', include: ['{src,scripts}/**/*.test.ts'], isolate: false, pool: 'threads' },
});
