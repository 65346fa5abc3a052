import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { committerQuery, setCommitter, type Committer as Values } from '../api/committer';
import { Failed } from '../design/Failed';
import { tr } from '../i18n/text';

// Committer is who the commits of agents are by.
export function Committer() {
  const stored = useQuery(committerQuery);
  return (
    <section className="card" aria-labelledby="committer-title">
      <h2 id="committer-title">{tr('Name in commits')}</h2>
      <p className="hint">{tr('Commits that you make in the Changes panel carry it. Without one they carry what Git has in the sandbox.')}</p>
      <Failed error={stored.error} />
      {stored.data && <Form key={`${stored.data.name}\n${stored.data.email}`} start={stored.data} />}
    </section>
  );
}

function Form({ start }: { start: Values }) {
  const queries = useQueryClient();
  const [name, setName] = useState(start.name);
  const [email, setEmail] = useState(start.email);
  const save = useMutation({
    mutationFn: () => setCommitter({ name: name.trim(), email: email.trim() }),
    onSuccess: () => queries.invalidateQueries({ queryKey: committerQuery.queryKey }),
  });
  const changed = name.trim() !== start.name || email.trim() !== start.email;
  return (
    <form
      className="settings-form"
      onSubmit={(e) => {
        e.preventDefault();
        save.mutate();
      }}
    >
      <label className="field">
        <span>{tr('Name')}</span>
        <input className="input" maxLength={256} autoComplete="name" value={name} onChange={(e) => setName(e.target.value)} />
      </label>
      <label className="field">
        <span>{tr('Email')}</span>
        <input className="input" type="email" maxLength={256} autoComplete="email" value={email} onChange={(e) => setEmail(e.target.value)} />
      </label>
      <Failed error={save.error} />
      <div className="row">
        <button className="button primary" disabled={save.isPending || !changed}>
          {tr('Save')}
        </button>
      </div>
    </form>
  );
}
