import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { describe } from '../api/failure';
import { installPlugin, pluginsQuery, removePlugin, switchPlugin, updatePlugin, type Placed, type Plugin, type Source } from '../api/plugins';
import { FormDialog } from '../design/FormDialog';
import { DeleteButton } from './DeleteButton';
import { Marketplaces } from './Marketplaces';
import { plural, tr } from '../i18n/text';

// A Question asks whether a plugin may run its hooks and MCP servers.
interface Question {
  plugin: Plugin;
  allow: () => Promise<Placed>;
}

// Plugins are the user's plugins: installed after a yes for their hooks and MCP servers, switched, updated and
// removed.
export function Plugins() {
  const queries = useQueryClient();
  const plugins = useQuery(pluginsQuery);
  const [question, setQuestion] = useState<Question | null>(null);
  const [source, setSource] = useState('');
  const [ref, setRef] = useState('');
  const changed = () => queries.invalidateQueries({ queryKey: pluginsQuery.queryKey });
  const place = useMutation({
    mutationFn: async (send: (allow: string[] | null) => Promise<Placed>) => ({ send, placed: await send(null) }),
    onSuccess: async ({ send, placed }) => {
      if (!placed.installed) setQuestion({ plugin: placed.plugin, allow: () => send(placed.plugin.runs) });
      else setSource('');
      await changed();
    },
  });
  const allow = useMutation({
    mutationFn: async (q: Question) => {
      const placed = await q.allow();
      // It has changed since it was shown.
      setQuestion(placed.installed ? null : { ...q, plugin: placed.plugin });
    },
    onSuccess: async () => {
      setSource('');
      await changed();
    },
  });
  const change = useMutation({
    mutationFn: (run: () => Promise<unknown>) => run(),
    onSettled: async () => {
      await changed();
      setSwitched(null);
    },
  });
  const [switched, setSwitched] = useState<{ name: string; enabled: boolean } | null>(null); // shown before the server has answered
  const turn = (name: string, enabled: boolean) => {
    setSwitched({ name, enabled });
    change.mutate(() => switchPlugin(name, enabled));
  };
  const install = (from: Source) => place.mutate((allowed) => installPlugin(from, allowed));
  const busy = place.isPending || change.isPending || plugins.isPending;
  const failure = place.error ?? change.error ?? plugins.error;
  if (!plugins.data && !plugins.error) return null;
  if (plugins.data && !plugins.data.available) {
    return (
      <section className="card" aria-labelledby="plugins-title">
        <h2 id="plugins-title">{tr('Plugins')}</h2>
        <p className="hint">{tr('Plugins belong to the user of the machine that this server runs on.')}</p>
      </section>
    );
  }
  const all = plugins.data?.plugins ?? [];
  return (
    <>
      <section className="card" aria-labelledby="plugins-title">
        <h2 id="plugins-title">{tr('Plugins')}</h2>
        <p className="hint">{tr('Skills, commands, agents, hooks and MCP servers of others. Your conversations have the plugins that are on, from their next start.')}</p>
        {failure && (
          <p className="banner bad" role="alert">
            {describe(failure)}
          </p>
        )}
        {plugins.data?.problems.map((text) => (
          <p key={text} className="banner bad" role="alert">
            {text}
          </p>
        ))}
        {plugins.data && all.length === 0 && <p className="hint">{tr('There is none yet.')}</p>}
        <ul className="settings-list">
          {all.map((p) => (
            <li key={p.source + p.name}>
              <span className="grow">
                <strong>{p.name}</strong> <span className="hint">{p.version}</span>
                {p.description !== '' && (
                  <>
                    <br />
                    {p.description}
                  </>
                )}
                <br />
                <code className="hint">{p.commit ? tr('{source} at {commit}', { source: p.source, commit: p.commit.slice(0, 12) }) : p.source}</code>
                <Parts plugin={p} />
              </span>
              {p.installed && (
                <>
                  <button
                    type="button"
                    className="button"
                    aria-label={tr('Update {name}', { name: p.name })}
                    disabled={busy}
                    onClick={() => place.mutate((allowed) => updatePlugin(p.name, allowed))}
                  >
                    {tr('Update')}
                  </button>
                  <label className="row">
                    <input type="checkbox" checked={switched?.name === p.name ? switched.enabled : p.enabled} disabled={busy} onChange={(e) => turn(p.name, e.target.checked)} />
                    {tr('On')}
                    <span className="visually-hidden">: {p.name}</span>
                  </label>
                  <DeleteButton name={p.name} loses={tr('The plugin is removed; conversations go on without it from their next start.')} onDelete={() => change.mutateAsync(() => removePlugin(p.name)).then(() => undefined)} />
                </>
              )}
            </li>
          ))}
        </ul>
        <form
          className="settings-form"
          aria-label={tr('Install a plugin')}
          onSubmit={(e) => {
            e.preventDefault();
            install({ source: source.trim(), ref: ref.trim() || null, repo_path: null });
          }}
        >
          <label className="field">
            <span>{tr('Repository')}</span>
            <input className="input mono" required spellCheck={false} placeholder={tr('github:owner/repository or https://example.com/plugin.git')} value={source} onChange={(e) => setSource(e.target.value)} />
          </label>
          <label className="field">
            <span>{tr('Branch, tag or commit, if not the default branch')}</span>
            <input className="input mono" spellCheck={false} value={ref} onChange={(e) => setRef(e.target.value)} />
          </label>
          <div className="row">
            <button className="button primary" disabled={busy}>
              {place.isPending ? tr('Installing …') : tr('Install')}
            </button>
          </div>
        </form>
      </section>
      <Marketplaces have={all.map((p) => p.name)} busy={busy} install={(name) => install({ source: name, ref: null, repo_path: null })} />
      {question && (
        <FormDialog title={tr('Let {name} run these?', { name: question.plugin.name })} button={tr('Allow')} action={{ ...allow, mutate: () => allow.mutate(question) }} onClose={() => setQuestion(null)}>
          <p>{tr('Hooks and MCP servers run in the sandbox, with the rights of the agent’s commands; without a sandbox with the rights of the server.')}</p>
          <ul className="mono">
            {question.plugin.runs.map((line) => (
              <li key={line}>{line}</li>
            ))}
          </ul>
        </FormDialog>
      )}
    </>
  );
}

function Parts({ plugin }: { plugin: Plugin }) {
  const lines = [...plugin.brings, ...plugin.runs];
  return (
    <>
      {plugin.problems.map((text) => (
        <span key={text} className="banner bad">
          {text}
        </span>
      ))}
      {lines.length > 0 && (
        <details>
          <summary className="hint">{plural(lines.length, 'One part', '{n} parts')}</summary>
          <ul className="mono">
            {lines.map((line) => (
              <li key={line}>{line}</li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}
