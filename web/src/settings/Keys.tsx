import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { createKey, deleteKey, keysQuery } from '../api/apiKeys';
import { describe } from '../api/failure';
import { CopyButton } from '../design/CopyButton';
import { ago } from '../design/format';
import { trNodes } from '../i18n/nodes';
import { tr } from '../i18n/text';
import { DeleteButton } from './DeleteButton';

// Keys are for programs that use this server as the user.
export function Keys() {
  const queries = useQueryClient();
  const keys = useQuery(keysQuery);
  const [name, setName] = useState('');
  const refresh = () => queries.invalidateQueries({ queryKey: keysQuery.queryKey });
  const create = useMutation({
    mutationFn: () => createKey(name.trim()),
    onSuccess: () => {
      setName('');
      return refresh();
    },
  });
  const failure = create.error ?? keys.error;
  if (keys.isPending) return null; // else the form below would move
  return (
    <section className="card" aria-labelledby="keys-title">
      <h2 id="keys-title">{tr('API keys')}</h2>
      <p className="hint">
        {trNodes('For programs: {header}. A key can do what you can.', { header: <code>Authorization: Bearer KEY</code> })}
      </p>
      {failure && (
        <p className="banner bad" role="alert">
          {describe(failure)}
        </p>
      )}
      {create.data && (
        <div className="banner good" role="status">
          <span>{tr('Copy the key now; it is not shown again.')}</span>
          <code className="new-key">{create.data}</code>
          <CopyButton text={create.data} />
        </div>
      )}
      {keys.data?.length === 0 && <p className="hint">{tr('There is no key yet.')}</p>}
      <ul className="settings-list">
        {keys.data?.map((k) => (
          <li key={k.id}>
            <span className="grow">
              {k.name || tr('Without a name')}
              <br />
              <span className="hint">
                {k.lastUsed ? tr('made {made}, used {used}', { made: ago(k.created), used: ago(k.lastUsed) }) : tr('made {made}, never used', { made: ago(k.created) })}
              </span>
            </span>
            <DeleteButton name={k.name || tr('Without a name')} loses={tr('Programs that use this key are refused from then on.')} onDelete={() => deleteKey(k.id).finally(refresh)} />
          </li>
        ))}
      </ul>
      <form
        className="row"
        onSubmit={(e) => {
          e.preventDefault();
          create.mutate();
        }}
      >
        <input className="input" aria-label={tr('Name of the key')} placeholder={tr('What it is for')} required maxLength={100} value={name} onChange={(e) => setName(e.target.value)} />
        <button className="button primary" disabled={create.isPending}>
          {tr('Create')}
        </button>
      </form>
    </section>
  );
}
