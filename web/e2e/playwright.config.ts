import { existsSync } from 'node:fs';
// The page in a real browser, against the built binary (DEFT_BIN). Run by `go test ./test/web`.
import { defineConfig } from '@playwright/test';
import { availableParallelism } from 'node:os';

export default defineConfig({
  testDir: '.',
  outputDir: process.env.DEFT_WEB_RESULTS ?? '../../bin/web-results',
  fullyParallel: true,
  workers: availableParallelism(),
  retries: 0,
  timeout: 300_000,
  forbidOnly: true,
  expect: { timeout: 90_000 },
  reporter: [['list']],
  use: {
    browserName: 'chromium',
    launchOptions: {
      executablePath: process.env.DEFT_CHROMIUM ?? ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'].find((p) => existsSync(p)),
      // Containers of CI have no user namespaces for the browser's own sandbox.
      args: process.getuid?.() === 0 ? ['--no-sandbox'] : [],
    },
    viewport: { width: 1280, height: 800 },
    actionTimeout: 90_000,
    trace: 'off',
    screenshot: 'only-on-failure',
  },
});
