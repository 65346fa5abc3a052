import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { describe } from '../api/failure';
import { deleteSecret, saveSecret, secretsQuery } from '../api/secrets';
import { tr } from '../i18n/text';
import { DeleteButton } from './DeleteButton';

export function Secrets() {
  const queries = useQueryClient();
  const secrets = useQuery(secretsQuery);
  const [name, setName] = useState('');
  const [value, setValue] = useState('');
  const [description, setDescription] = useState('');
  const refresh = () => queries.invalidateQueries({ queryKey: secretsQuery.queryKey });
  const save = useMutation({
    mutationFn: () => saveSecret(name.trim(), value, description.trim()),
    onSuccess: () => {
      setName('');
      setValue('');
      setDescription('');
      return refresh();
    },
  });
  const failure = save.error ?? secrets.error;
  if (secrets.isPending) return null; // else the form below would move
  return (
    <section className="card" aria-labelledby="secrets-title">
      <h2 id="secrets-title">{tr('Secrets')}</h2>
      <p className="hint">{tr('Variables of the agent’s commands. They are stored encrypted; the model sees their names only, and values are masked in what it reads.')}</p>
      {failure && (
        <p className="banner bad" role="alert">
          {describe(failure)}
        </p>
      )}
      {secrets.data && secrets.data.length > 0 && (
        <ul className="settings-list">
          {secrets.data.map((s) => (
            <li key={s.name}>
              <span className="grow">
                <code>{s.name}</code>
                {s.description && <span className="hint"> {s.description}</span>}
              </span>
              <DeleteButton name={s.name} loses={tr('Its value is deleted for good; commands of agents no longer get it.')} onDelete={() => deleteSecret(s.name).finally(refresh)} />
            </li>
          ))}
        </ul>
      )}
      <form
        className="settings-form"
        onSubmit={(e) => {
          e.preventDefault();
          save.mutate();
        }}
      >
        <label className="field">
          <span>{tr('Name')}</span>
          <input
            className="input mono"
            required
            pattern="[A-Za-z][A-Za-z0-9_]{0,63}"
            title={tr('A letter, then letters, digits and _')}
            spellCheck={false}
            value={name}
            onChange={(e) => setName(e.target.value)}
            placeholder="DEPLOY_TOKEN"
          />
        </label>
        <label className="field">
          <span>{tr('Value')}</span>
          <input className="input mono" required type="password" autoComplete="off" value={value} onChange={(e) => setValue(e.target.value)} />
        </label>
        <label className="field">
          <span>{tr('What it is for')}</span>
          <input className="input" value={description} onChange={(e) => setDescription(e.target.value)} />
        </label>
        <div className="row">
          <button className="button primary" disabled={save.isPending}>
            {tr('Store')}
          </button>
        </div>
      </form>
    </section>
  );
}
