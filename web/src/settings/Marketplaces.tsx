import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { describe } from '../api/failure';
import { addMarketplace, marketplacesQuery, offersQuery, removeMarketplace } from '../api/plugins';
import { DeleteButton } from './DeleteButton';
import { tr } from '../i18n/text';

interface Props {
  have: string[]; // names of plugins that are installed
  busy: boolean;
  install: (name: string) => void;
}

// Marketplaces are repositories that name plugins, which are installed from there.
export function Marketplaces({ have, busy, install }: Props) {
  const queries = useQueryClient();
  const shops = useQuery(marketplacesQuery);
  const [name, setName] = useState('');
  const [source, setSource] = useState('');
  const changed = () => queries.invalidateQueries({ queryKey: marketplacesQuery.queryKey });
  const add = useMutation({
    mutationFn: () => addMarketplace(name.trim(), { source: source.trim(), ref: null, repo_path: null }),
    onSuccess: () => {
      setName('');
      setSource('');
    },
    onSettled: changed,
  });
  const failure = add.error ?? shops.error;
  return (
    <section className="card" aria-labelledby="marketplaces-title">
      <h2 id="marketplaces-title">{tr('Marketplaces')}</h2>
      <p className="hint">{tr('Repositories that name plugins.')}</p>
      {failure && (
        <p className="banner bad" role="alert">
          {describe(failure)}
        </p>
      )}
      {shops.data?.length === 0 && <p className="hint">{tr('There is none yet.')}</p>}
      {shops.data?.map((shop) => (
        <div key={shop.name}>
          <div className="row">
            <span className="grow">
              <strong>{shop.name}</strong> <code className="hint">{shop.source}</code>
            </span>
            <DeleteButton name={shop.name} loses={tr('Plugins that came from it stay.')} onDelete={() => removeMarketplace(shop.name).then(changed)} />
          </div>
          <Offers shop={shop.name} have={have} busy={busy} install={install} />
        </div>
      ))}
      <form
        className="settings-form"
        aria-label={tr('Add a marketplace')}
        onSubmit={(e) => {
          e.preventDefault();
          add.mutate();
        }}
      >
        <label className="field">
          <span>{tr('Name')}</span>
          <input className="input mono" required pattern="[A-Za-z0-9][A-Za-z0-9._\-]{0,99}" spellCheck={false} value={name} onChange={(e) => setName(e.target.value)} />
        </label>
        <label className="field">
          <span>{tr('Repository of the marketplace')}</span>
          <input className="input mono" required spellCheck={false} value={source} onChange={(e) => setSource(e.target.value)} />
        </label>
        <div className="row">
          <button className="button primary" disabled={add.isPending}>
            {tr('Add')}
          </button>
        </div>
      </form>
    </section>
  );
}

function Offers({ shop, have, busy, install }: Props & { shop: string }) {
  const offers = useQuery(offersQuery(shop));
  if (offers.error) {
    return (
      <p className="banner bad" role="alert">
        {describe(offers.error)}
      </p>
    );
  }
  return (
    <ul className="settings-list" aria-label={tr('Plugins of {name}', { name: shop })}>
      {offers.data?.map((o) => (
        <li key={o.name}>
          <span className="grow">
            <strong>{o.name}</strong> <span className="hint">{o.version}</span>
            <br />
            <span className="hint">{o.why === '' ? o.description : tr('It cannot be installed: {why}', { why: o.why })}</span>
          </span>
          {have.includes(o.name) ? (
            <span className="tag">{tr('installed')}</span>
          ) : (
            o.why === '' && (
              <button type="button" className="button" aria-label={tr('Install {name}', { name: o.name })} disabled={busy} onClick={() => install(`${o.name}@${shop}`)}>
                {tr('Install')}
              </button>
            )
          )}
        </li>
      ))}
    </ul>
  );
}
