import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { describe } from '../api/failure';
import { localModelsQuery, modelNamesQuery, setModel as storeModel, type LocalModel } from '../api/models';
import { guess } from './modelGuess';
import { tr } from '../i18n/text';

// FirstRun asks for the one thing that Deft cannot know: which model to use. An
// API key says that by its form; a URL is a server of one's own.
export function FirstRun() {
  const queries = useQueryClient();
  const [value, setValue] = useState('');
  const [model, setModel] = useState('');
  const models = useQuery(modelNamesQuery);
  const guessed = guess(value, models.data ?? []);
  const save = useMutation({
    mutationFn: () => storeModel({ ...guessed, model: model.trim() || guessed.model }),
    onSuccess: () => queries.invalidateQueries(),
  });
  const local = useQuery(localModelsQuery);
  const take = useMutation({
    mutationFn: (found: LocalModel) => storeModel({ model: found.model, baseURL: found.baseURL, apiKey: 'local' }),
    onSuccess: () => queries.invalidateQueries(),
  });
  const failure = save.error ?? take.error;
  const unclear = value.trim() !== '' && guessed.model === '';
  return (
    <form
      className="first-run"
      onSubmit={(e) => {
        e.preventDefault();
        save.mutate();
      }}
    >
      <label className="field">
        <span>{tr('API key, or the address of a local model')}</span>
        <input
          className="input mono"
          autoFocus
          autoComplete="off"
          spellCheck={false}
          value={value}
          onChange={(e) => setValue(e.target.value)}
          placeholder={tr('sk-… or http://localhost:11434')}
        />
      </label>
      {(unclear || model) && (
        <label className="field">
          <span>{tr('Model')}</span>
          <input
            className="input mono"
            list="models"
            spellCheck={false}
            value={model}
            onChange={(e) => setModel(e.target.value)}
            placeholder={tr('provider/name')}
          />
          <datalist id="models">
            {models.data?.map((m) => (
              <option key={m} value={m} />
            ))}
          </datalist>
        </label>
      )}
      <div className="row">
        <p className="hint grow">
          {guessed.model ? tr('Will use {model}.', { model: model || guessed.model }) : tr('The key stays on this server, encrypted. You can change all of this in the settings.')}
        </p>
        <button className="button primary" disabled={!value.trim() || (unclear && !model.trim()) || save.isPending}>
          {tr('Continue')}
        </button>
      </div>
      {local.data && local.data.length > 0 && (
        <section className="first-run-local" aria-label={tr('Models on this machine')}>
          <p className="hint">{tr('Found on this machine:')}</p>
          <ul>
            {local.data.slice(0, 8).map((m) => (
              <li key={`${m.program} ${m.model}`}>
                <button type="button" className="button" disabled={take.isPending} onClick={() => take.mutate(m)}>
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
