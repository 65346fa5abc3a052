import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { describe } from '../api/failure';
import { hostsQuery, removeGitTokens, setGitToken } from '../api/gitHosts';
import { Committer } from './Committer';
import { providers } from './providers';
import { wrongScheme } from '../design/address';
import { AddressField } from '../design/AddressField';
import { FormDialog } from '../design/FormDialog';
import { tr } from '../i18n/text';

// GitPage is the page of the settings with the hosts and the name in commits. It shows once
// the hosts are known, so that nothing moves.
export function GitPage() {
  const hosts = useQuery(hostsQuery);
  if (hosts.isPending) return null;
  return (
    <>
      <GitHosts />
      <Committer />
    </>
  );
}

// GitHosts keeps the tokens by which repositories are cloned.
function GitHosts() {
  const queries = useQueryClient();
  const hosts = useQuery(hostsQuery);
  const [provider, setProvider] = useState('github');
  const [token, setToken] = useState('');
  const [host, setHost] = useState('');
  const refresh = () => queries.invalidateQueries({ queryKey: hostsQuery.queryKey });
  const save = useMutation({
    mutationFn: () => setGitToken(provider, token.trim(), host.trim()),
    onSuccess: () => {
      setToken('');
      return refresh();
    },
  });
  const [removing, setRemoving] = useState(false);
  const remove = useMutation({ mutationFn: () => removeGitTokens().finally(refresh), onSuccess: () => setRemoving(false) });
  const failure = save.error ?? hosts.error;
  const known = Object.entries(hosts.data ?? {});
  return (
    <section className="card" aria-labelledby="git-title">
      <h2 id="git-title">{tr('Git hosts')}</h2>
      <p className="hint">{tr('Repositories are cloned outside the sandbox, so that a token never enters it. Tokens are stored encrypted.')}</p>
      {failure && (
        <p className="banner bad" role="alert">
          {describe(failure)}
        </p>
      )}
      {known.length > 0 && (
        <>
          <ul className="settings-list">
            {known.map(([name, at]) => (
              <li key={name}>
                <span className="grow">
                  {providers.find((p) => p.name === name)?.label ?? name} {at && <span className="hint">{at}</span>}
                </span>
                <span className="tag">{tr('token stored')}</span>
              </li>
            ))}
          </ul>
          <button className="button danger" onClick={() => setRemoving(true)}>
            {tr('Remove all tokens')}
          </button>
        </>
      )}
      {removing && (
        <FormDialog title={tr('Remove all tokens?')} button={tr('Remove all tokens')} danger action={remove} onClose={() => setRemoving(false)}>
          <p>{tr('They are deleted for good; private repositories cannot be cloned or proposed to without new ones.')}</p>
        </FormDialog>
      )}
      <form
        className="settings-form"
        onSubmit={(e) => {
          e.preventDefault();
          save.mutate();
        }}
      >
        <label className="field">
          <span>{tr('Host')}</span>
          <select className="input" value={provider} onChange={(e) => setProvider(e.target.value)}>
            {providers.map((p) => (
              <option key={p.name} value={p.name}>
                {p.label}
              </option>
            ))}
          </select>
        </label>
        <label className="field">
          <span>{tr('Token')}</span>
          <input className="input mono" type="password" autoComplete="off" required value={token} onChange={(e) => setToken(e.target.value)} />
        </label>
        <AddressField
          label={tr('Address, if it is one of your own')}
          placeholder={providers.find((p) => p.name === provider)?.host}
          means={() => ''}
          refuses={wrongScheme}
          value={host}
          onChange={setHost}
        />
        <div className="row">
          <button className="button primary" disabled={save.isPending}>
            {tr('Store')}
          </button>
        </div>
      </form>
    </section>
  );
}
