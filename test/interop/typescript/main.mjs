// Runs all cases of the published TypeScript client against a server and prints a
// line of JSON for each: name, ok, seconds, error.
import './window.mjs';
import * as library from '@openhands/typescript-client';
import * as clients from '@openhands/typescript-client/clients';

const called = watch({ ...library, ...clients });
const { groups, setup } = await import('./cases.mjs');
for (const name of ['server', 'conversations', 'control', 'events', 'sockets', 'bash', 'files', 'settings', 'profiles', 'catalogues']) {
  await import(`./${name}.mjs`);
}

// watch records which methods of the classes are called.
function watch(classes) {
  const seen = new Map();
  for (const [name, value] of Object.entries(classes)) {
    if (typeof value !== 'function' || !/(Client|RemoteConversation|RemoteWorkspace|ConversationManager|RemoteState|RemoteEventsList)$/.test(name)) continue;
    for (const [method, is] of Object.entries(Object.getOwnPropertyDescriptors(value.prototype))) {
      if (method === 'constructor' || typeof is.value !== 'function') continue;
      seen.set(`${name}.${method}`, false);
      value.prototype[method] = function (...args) {
        seen.set(`${name}.${method}`, true);
        return is.value.apply(this, args);
      };
    }
  }
  return seen;
}

// Methods that do not concern agent servers, need a browser, or are internal to the
// client.
const excluded = /^(CloudClient|OpenHandsClient)\.|\.downloadAndSave$|^HttpClient\.|\.(ensureWorkspacesSupported|reportError|scheduleReconnect)$/;

function report(name, start, error) {
  const seconds = Math.round(performance.now() - start) / 1000;
  console.log(JSON.stringify({ name, ok: !error, seconds, error: error ? String(error.stack ?? error) : '' }));
}

const limit = (run) => new Promise((done, fail) => {
  const timer = setTimeout(() => fail(new Error('not done after 300 s')), 300_000);
  Promise.resolve().then(run).then(done, fail).finally(() => clearTimeout(timer));
});

async function work(cases) {
  for (const { name, run } of cases) {
    if (setup.only && !name.includes(setup.only)) continue;
    const start = performance.now();
    await limit(run).then(() => report(name, start), (error) => report(name, start, error ?? new Error('no reason')));
  }
}

const start = performance.now();
await Promise.all([...groups.values()].map(work));
if (!setup.only) {
  const left = [...called].filter(([name, yes]) => !yes && !excluded.test(name)).map(([name]) => name);
  report('every call', start, left.length ? new Error(`never called: ${left.join(', ')}`) : null);
}
process.exit(0); // the client's sockets have timers of their own
