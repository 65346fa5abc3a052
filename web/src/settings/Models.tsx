import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState, type FormEvent } from 'react';
import { programQuery } from '../api/agentProgram';
import { describe } from '../api/failure';
import { activateProfile, deleteProfile, modelNamesQuery, modelQuery, profilesQuery, saveProfile, setModel, testModel, type Model, type ModelChoice } from '../api/models';
import { addressOf } from '../design/address';
import { AddressField } from '../design/AddressField';
import { tr } from '../i18n/text';
import { AgentChoice } from './AgentChoice';
import { DeleteButton } from './DeleteButton';
import { FileTools } from './FileTools';
import { MemoryFiles } from './MemoryFiles';
import { MoreTools } from './MoreTools';

export function Models() {
  const queries = useQueryClient();
  const current = useQuery(modelQuery);
  const program = useQuery(programQuery).data ?? null;
  const profiles = useQuery(profilesQuery);
  const [adding, setAdding] = useState(false);
  const refresh = () => queries.invalidateQueries();
  const activate = useMutation({ mutationFn: activateProfile, onSettled: refresh });
  const failure = activate.error ?? profiles.error ?? current.error;
  if (current.isPending || profiles.isPending) return null; // else the forms below would move
  return (
    <>
      {failure && (
        <p className="banner bad" role="alert">
          {describe(failure)}
        </p>
      )}
      <AgentChoice key={JSON.stringify(program)} start={program} />
      {!program && (
        <section className="card" aria-labelledby="model-title">
          <h2 id="model-title">{tr('Model')}</h2>
          {current.data && (
            <ModelForm
              key={`${current.data.model} ${current.data.baseURL}`}
              start={current.data}
              button={tr('Save')}
              onSave={async (choice) => {
                await setModel(choice);
                await refresh();
              }}
            />
          )}
        </section>
      )}
      {current.data && !program && (
        <section className="card" aria-label={tr('Test')}>
          <div className="row">
            <TestModel profile={null} />
            <span className="hint">{tr('sends the model above, as it is saved, a small request')}</span>
          </div>
        </section>
      )}
      {!program && <FileTools />}
      {!program && <MemoryFiles />}
      {!program && <MoreTools />}
      <section className="card" aria-labelledby="profiles-title">
        <h2 id="profiles-title">{tr('Profiles')}</h2>
        <p className="hint">{tr('Named models, to switch between.')}</p>
        {profiles.data && profiles.data.length > 0 && (
          <ul className="settings-list">
            {profiles.data.map((p) => (
              <li key={p.name}>
                <span className="grow">
                  <strong>{p.name}</strong> {p.active && <span className="tag">{tr('in use')}</span>}
                  <br />
                  <code className="hint">
                    {p.model} {p.baseURL}
                  </code>
                </span>
                <TestModel profile={p.name} />
                {!p.active && (
                  <button className="button" disabled={activate.isPending} onClick={() => activate.mutate(p.name)}>
                    {tr('Use')}
                  </button>
                )}
                <DeleteButton name={p.name} loses={tr('The profile and its key are deleted for good.')} onDelete={() => deleteProfile(p.name).finally(refresh)} />
              </li>
            ))}
          </ul>
        )}
        {adding ? (
          <ModelForm
            named
            start={{ model: '', baseURL: '', keySet: false }}
            button={tr('Add')}
            onSave={async (choice, name) => {
              await saveProfile(name, choice);
              await refresh();
              setAdding(false);
            }}
          />
        ) : (
          <button className="button" onClick={() => setAdding(true)}>
            {tr('Add a profile')}
          </button>
        )}
      </section>
    </>
  );
}

interface FormProps {
  start: Model;
  named?: boolean;
  button: string;
  onSave: (choice: ModelChoice, name: string) => Promise<void>;
}

function ModelForm({ start, named, button, onSave }: FormProps) {
  const models = useQuery(modelNamesQuery);
  const [name, setName] = useState('');
  const [model, setModel] = useState(start.model);
  const [baseURL, setBaseURL] = useState(start.baseURL);
  const [apiKey, setApiKey] = useState('');
  const save = useMutation({
    mutationFn: () => onSave({ model: model.trim(), baseURL: addressOf(baseURL), apiKey: apiKey.trim() }, name.trim()),
    onSuccess: () => setApiKey(''),
  });
  return (
    <form
      className="settings-form"
      onSubmit={(e: FormEvent) => {
        e.preventDefault();
        save.mutate();
      }}
    >
      {named && (
        <label className="field">
          <span>{tr('Name')}</span>
          <input className="input" required pattern="[A-Za-z0-9][A-Za-z0-9._\-]{0,63}" value={name} onChange={(e) => setName(e.target.value)} />
        </label>
      )}
      <label className="field">
        <span>{tr('Model')}</span>
        <input className="input mono" required list="all-models" spellCheck={false} value={model} onChange={(e) => setModel(e.target.value)} />
      </label>
      <datalist id="all-models">
        {models.data?.map((m) => (
          <option key={m} value={m} />
        ))}
      </datalist>
      <AddressField value={baseURL} onChange={setBaseURL} />
      <label className="field">
        <span>{tr('API key')}</span>
        <input
          className="input mono"
          type="password"
          autoComplete="off"
          placeholder={start.keySet ? tr('unchanged') : ''}
          value={apiKey}
          onChange={(e) => setApiKey(e.target.value)}
        />
      </label>
      {save.isError && (
        <p className="banner bad" role="alert">
          {describe(save.error)}
        </p>
      )}
      <div className="row">
        <button className="button primary" disabled={save.isPending}>
          {button}
        </button>
        {save.isSuccess && (
          <span className="hint" role="status">
            {tr('Saved')}
          </span>
        )}
      </div>
    </form>
  );
}

function TestModel({ profile }: { profile: string | null }) {
  const test = useMutation({ mutationFn: () => testModel(profile) });
  return (
    <span className="row">
      {test.data && (
        <span className={test.data.works ? 'tag' : 'tag bad'} role="status">
          {test.data.works ? tr('works') : test.data.message}
        </span>
      )}
      {test.isError && (
        <span className="tag bad" role="alert">
          {describe(test.error)}
        </span>
      )}
      <button type="button" className="button" aria-label={profile === null ? tr('Test the model') : tr('Test {name}', { name: profile })} disabled={test.isPending} onClick={() => test.mutate()}>
        {test.isPending ? tr('Testing …') : tr('Test')}
      </button>
    </span>
  );
}
