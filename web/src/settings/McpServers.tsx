import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useCallback, useEffect, useRef, useState } from 'react';
import { describe } from '../api/failure';
import { beginLogin, loginsQuery, logOut, serversQuery, setServers, testServer, type McpServer } from '../api/mcpServers';
import { serverOf, wrongScheme } from '../design/address';
import { AddressField } from '../design/AddressField';
import { DeleteButton } from './DeleteButton';
import { line, words } from './commandLine';
import { variables, written } from './environment';
import { useChoice } from './useChoice';
import { tr } from '../i18n/text';

// McpServers gives agents more tools. Programs run inside the sandbox.
export function McpServers() {
  const servers = useChoice(serversQuery, setServers);
  const [name, setName] = useState('');
  const [address, setAddress] = useState('');
  const [token, setToken] = useState('');
  const [environment, setEnvironment] = useState('');
  const [editing, setEditing] = useState<string | null>(null); // the stored one in the form
  const form = useRef<HTMLFormElement>(null);
  const all = servers.value ?? {};
  const failure = servers.error;
  const add = (next: Record<string, McpServer>) =>
    servers.choose(next, () => {
      // The next one may be in the fields already.
      setName((now) => (now === name ? '' : now));
      setAddress((now) => (now === address ? '' : now));
      setToken((now) => (now === token ? '' : now));
      setEnvironment((now) => (now === environment ? '' : now));
      setEditing((now) => (now === editing ? null : now));
    });
  const fill = (key: string | null, server: McpServer) => {
    setEditing(key);
    setName(key ?? '');
    setAddress(server.url ?? line([server.command ?? '', ...(server.args ?? [])].filter((word, i) => i > 0 || word !== '')));
    setToken('');
    setEnvironment(written(server.env ?? {}));
    form.current?.querySelector<HTMLInputElement>(key === null ? 'input' : 'input:not([readonly])')?.focus();
  };
  const url = serverOf(address);
  const remote = url !== '';
  const program = address.trim() !== '' && !remote && !wrongScheme(address);
  const { env, wrong } = variables(environment);
  if (!servers.value && !servers.error) return null; // else the form below would move
  return (
    <section className="card" aria-labelledby="mcp-title">
      <h2 id="mcp-title">{tr('MCP servers')}</h2>
      <p className="hint">{tr('More tools for agents: an address, or a program, which runs inside the sandbox. New conversations have them.')}</p>
      {failure && (
        <p className="banner bad" role="alert">
          {describe(failure)}
        </p>
      )}
      {servers.value && Object.keys(all).length === 0 && <p className="hint">{tr('There is none yet.')}</p>}
      <ul className="settings-list">
        {Object.entries(all).map(([key, server]) => (
          <li key={key}>
            <span className="grow">
              <strong>{key}</strong>
              <br />
              <code className="hint">{server.url ?? line([server.command ?? '', ...(server.args ?? [])])}</code>
              {Object.keys(server.env ?? {}).length > 0 && <span className="hint"> {tr('with {names}', { names: Object.keys(server.env ?? {}).join(', ') })}</span>}
            </span>
            <TestServer name={key} stored={!servers.pending} />
            {server.url !== undefined && !authorized(server) && <LogIn name={key} stored={!servers.pending} />}
            <button type="button" className="button" aria-label={tr('Edit {name}', { name: key })} disabled={servers.pending} onClick={() => fill(key, server)}>
              {tr('Edit')}
            </button>
            <label className="row">
              <input
                type="checkbox"
                checked={server.enabled !== false}
                disabled={servers.pending}
                onChange={(e) => servers.choose({ ...all, [key]: { ...server, enabled: e.target.checked } })}
              />
              {tr('On')}
              <span className="visually-hidden">: {key}</span>
            </label>
            <DeleteButton
              name={key}
              loses={tr('What is stored of it, a token too, is deleted for good; new conversations do not have its tools.')}
              disabled={servers.pending}
              onDelete={() => servers.choose(Object.fromEntries(Object.entries(all).filter(([other]) => other !== key)))}
            />
          </li>
        ))}
      </ul>
      <form
        ref={form}
        className="settings-form"
        aria-label={editing === null ? tr('Add an MCP server') : tr('Edit {name}', { name: editing })}
        onSubmit={(e) => {
          e.preventDefault();
          if (program && wrong !== null) return;
          const [command = '', ...args] = words(address.trim());
          // An edited server keeps its other fields; fields of the other form are dropped.
          const { url: _, headers, command: __, args: ___, env: ____, ...kept } = (editing !== null && all[editing]) || {};
          const server: McpServer = remote
            ? { ...kept, url, ...(token ? { headers: { ...headers, Authorization: `Bearer ${token}` } } : headers ? { headers } : {}) }
            : { ...kept, command, args, env };
          add({ ...all, [name.trim()]: server });
        }}
      >
        <label className="field">
          <span>{tr('Name')}</span>
          <input className="input mono" required readOnly={editing !== null} pattern="[A-Za-z0-9][A-Za-z0-9_\-]{0,63}" spellCheck={false} value={name} onChange={(e) => setName(e.target.value)} />
        </label>
        <AddressField
          label={tr('Address or command')}
          placeholder={tr('https://example.com/mcp or uvx mcp-server-fetch')}
          required
          inputMode="text"
          means={serverOf}
          refuses={wrongScheme}
          value={address}
          onChange={setAddress}
        />
        {remote && (
          <label className="field">
            <span>{tr('Token, if it wants one')}</span>
            <input className="input mono" type="password" autoComplete="off" placeholder={editing !== null && all[editing]?.headers ? tr('unchanged') : ''} value={token} onChange={(e) => setToken(e.target.value)} />
          </label>
        )}
        {program && (
          <label className="field">
            <span>{tr('Environment variables, if it wants some')}</span>
            <textarea
              className="input mono"
              rows={2}
              spellCheck={false}
              autoComplete="off"
              placeholder={tr('NAME=value, one in each line')}
              aria-invalid={wrong !== null}
              aria-describedby={wrong !== null ? 'mcp-environment' : undefined}
              value={environment}
              onChange={(e) => setEnvironment(e.target.value)}
            />
            {wrong !== null && (
              <span className="hint" id="mcp-environment" role="alert">
                {tr('Not NAME=value: {line}', { line: wrong })}
              </span>
            )}
          </label>
        )}
        <div className="row">
          <button className="button primary" disabled={servers.pending || (program && wrong !== null)}>
            {editing === null ? tr('Add') : tr('Save')}
          </button>
          {editing !== null && (
            <button type="button" className="button" onClick={() => fill(null, {})}>
              {tr('Cancel')}
            </button>
          )}
        </div>
      </form>
    </section>
  );
}

// authorized says that a server has credentials of its own in the settings.
const authorized = ({ headers = {}, auth }: McpServer): boolean => {
  const strategy = (auth as { strategy?: string } | undefined)?.strategy ?? 'none';
  return Object.keys(headers).some((name) => name.toLowerCase() === 'authorization') || !['none', 'oauth2'].includes(strategy);
};

// useLook returns a function that reads again at which servers the user is logged in.
function useLook() {
  const queries = useQueryClient();
  return useCallback(() => queries.invalidateQueries({ queryKey: loginsQuery.queryKey }), [queries]);
}

// LogIn goes to the login page of a stored server, or forgets the login.
function LogIn({ name, stored }: { name: string; stored: boolean }) {
  const look = useLook();
  const logins = useQuery(loginsQuery);
  // Without an address there is nothing to ask the user: a login is there already.
  const begin = useMutation({ mutationFn: () => beginLogin(name), onSuccess: (address) => (address === '' ? look() : window.location.assign(address)) });
  const end = useMutation({ mutationFn: () => logOut(name), onSettled: look });
  const again = begin.reset;
  useEffect(() => {
    // The browser's Back shows this page as it was when it was left.
    const shown = (e: PageTransitionEvent) => {
      if (!e.persisted) return;
      again();
      void look();
    };
    window.addEventListener('pageshow', shown);
    return () => window.removeEventListener('pageshow', shown);
  }, [again, look]);
  const failure = begin.error ?? end.error;
  return (
    <>
      {logins.data?.includes(name) ? (
        <button type="button" className="button" aria-label={tr('Log out of {name}', { name })} disabled={end.isPending} onClick={() => end.mutate()}>
          {tr('Log out')}
        </button>
      ) : (
        <button type="button" className="button" aria-label={tr('Log in at {name}', { name })} disabled={!stored || begin.isPending || (begin.isSuccess && begin.data !== '')} onClick={() => begin.mutate()}>
          {tr('Log in')}
        </button>
      )}
      {failure && (
        <p className="settings-result banner bad" role="alert">
          {describe(failure)}
        </p>
      )}
    </>
  );
}

// TestServer connects to a stored server, and names its tools.
function TestServer({ name, stored }: { name: string; stored: boolean }) {
  // A login that does not count any more is forgotten.
  const test = useMutation({ mutationFn: () => testServer(name), onSettled: useLook() });
  return (
    <>
      <button type="button" className="button" aria-label={tr('Test {name}', { name })} disabled={test.isPending || !stored} onClick={() => test.mutate()}>
        {test.isPending ? tr('Testing …') : tr('Test')}
      </button>
      {test.data?.works && (
        <p className="settings-result" role="status">
          <span className="tag">{tr('works')}</span> {test.data.tools.length === 0 ? tr('It has no tools.') : tr('Its tools: {names}', { names: test.data.tools.join(', ') })}
        </p>
      )}
      {test.data && !test.data.works && (
        <p className="settings-result banner warn" role="status">
          {test.data.message}
        </p>
      )}
      {test.isError && (
        <p className="settings-result banner bad" role="alert">
          {describe(test.error)}
        </p>
      )}
    </>
  );
}
