import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { describe } from '../api/failure';
import { localModelsQuery, modelNamesQuery, setModel as storeModel, testChoice, type ModelChoice } from '../api/models';
import { addressOf, wrongScheme } from '../design/address';
import { AddressField } from '../design/AddressField';
import { tr } from '../i18n/text';
import { guess } from './modelGuess';

// FirstRun asks for the one thing that Deft cannot know: which model to use. An
// API key says that by its form; a URL is a server of one's own. The model is tried before it is
// stored.
export function FirstRun() {
  const queries = useQueryClient();
  const [value, setValue] = useState('');
  const [shown, setShown] = useState(false);
  const [model, setModel] = useState<string | null>(null); // null: the guessed one
  const [address, setAddress] = useState<string | null>(null);
  const models = useQuery(modelNamesQuery);
  const meant = addressOf(value);
  const wrong = wrongScheme(value);
  const guessed = guess(value, models.data ?? []);
  const choice: ModelChoice = { ...guessed, model: (model ?? guessed.model).trim(), baseURL: addressOf(address ?? guessed.baseURL) };
  const save = useMutation({ mutationFn: storeModel, onSuccess: () => queries.invalidateQueries() });
  const test = useMutation({
    mutationFn: testChoice,
    onSuccess: async ({ works }, tried) => {
      if (works) await save.mutateAsync(tried);
    },
  });
  const local = useQuery(localModelsQuery);
  const busy = test.isPending || save.isPending;
  const failure = test.error ?? save.error;
  const refused = test.data && !test.data.works ? test.data.message : '';
  const change = (set: (value: string) => void) => (now: string) => {
    test.reset();
    set(now);
  };
  return (
    <form
      className="first-run"
      onSubmit={(e) => {
        e.preventDefault();
        test.mutate(choice);
      }}
    >
      <div className="field">
        <label htmlFor="first-key">{tr('API key, or the address of a local model')}</label>
        <div className="row">
          <input
            id="first-key"
            className="input mono"
            type={shown || value === '' || meant || wrong ? 'text' : 'password'}
            aria-describedby="first-meant"
            autoFocus
            autoComplete="off"
            spellCheck={false}
            value={value}
            onChange={(e) => change(setValue)(e.target.value)}
            placeholder={tr('sk-… or http://localhost:11434')}
          />
          {value !== '' && !meant && !wrong && (
            <button type="button" className="button" aria-pressed={shown} onClick={() => setShown(!shown)}>
              {shown ? tr('Hide') : tr('Show')}
            </button>
          )}
        </div>
        <p id="first-meant" className="hint" aria-live="polite">
          {meant && meant !== value.trim() && tr('That is the address {address}.', { address: meant })}
          {wrong}
        </p>
      </div>
      {value.trim() !== '' && !wrong && (
        <>
          <label className="field">
            <span>{tr('Model')}</span>
            <input className="input mono" required list="models" spellCheck={false} value={model ?? guessed.model} onChange={(e) => change(setModel)(e.target.value)} placeholder={tr('provider/name')} />
            <datalist id="models">
              {models.data?.map((m) => (
                <option key={m} value={m} />
              ))}
            </datalist>
          </label>
          <AddressField value={address ?? guessed.baseURL} onChange={change(setAddress)} />
        </>
      )}
      <div className="row">
        <p className="hint grow">{tr('The model is asked something short first. The key stays on this server, encrypted; you can change all of this in the settings.')}</p>
        <button className="button primary" disabled={!value.trim() || wrong !== '' || !choice.model || busy}>
          {busy ? tr('Testing …') : tr('Continue')}
        </button>
      </div>
      {refused && (
        <div className="banner bad" role="alert">
          <span className="grow">{tr('The model does not answer: {reason}', { reason: refused })}</span>
          <button type="button" className="button" disabled={busy} onClick={() => save.mutate(choice)}>
            {tr('Use it all the same')}
          </button>
        </div>
      )}
      {local.data && local.data.length > 0 && (
        <section className="first-run-local" aria-label={tr('Models on this machine')}>
          <p className="hint">{tr('Found on this machine:')}</p>
          <ul>
            {local.data.slice(0, 8).map((m) => (
              <li key={`${m.program} ${m.model}`}>
                <button type="button" className="button" disabled={busy} onClick={() => save.mutate({ model: m.model, baseURL: m.baseURL, apiKey: 'local' })}>
                  {tr('Use {model}', { model: m.model.slice(m.model.indexOf('/') + 1) })} <span className="hint">{m.program}</span>
                </button>
              </li>
            ))}
          </ul>
        </section>
      )}
      {failure && (
        <p className="banner bad" role="alert">
          {describe(failure)}
        </p>
      )}
    </form>
  );
}
