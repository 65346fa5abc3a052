import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState, type FormEvent } from 'react';
import { knownProgramsQuery, setProgram, type AgentProgram } from '../api/agentProgram';
import { Failed } from '../design/Failed';
import { tr } from '../i18n/text';
import { line, words } from './commandLine';

// AgentChoice says which agent new conversations have: Deft's own, or another program.
export function AgentChoice({ start }: { start: AgentProgram | null }) {
  const queries = useQueryClient();
  const known = useQuery(knownProgramsQuery);
  const [server, setServer] = useState(start?.server ?? '');
  const stored = line(start?.command ?? []);
  const [command, setCommand] = useState(stored);
  const [model, setModel] = useState(start?.model ?? '');
  const save = useMutation({
    mutationFn: () => setProgram({ server, command: start && command === stored ? start.command : words(command), model: model.trim() }),
    onSettled: () => queries.invalidateQueries(),
  });
  const key = known.data?.find((p) => p.key === server)?.api_key_env_var;
  return (
    <section className="card" aria-labelledby="agent-title">
      <h2 id="agent-title">{tr('Agent')}</h2>
      <Failed error={save.error ?? known.error} />
      <form
        className="settings-form"
        onSubmit={(e: FormEvent) => {
          e.preventDefault();
          save.mutate();
        }}
      >
        <label className="field">
          <span>{tr('Agent of new conversations')}</span>
          <select className="input" value={server} onChange={(e) => setServer(e.target.value)}>
            <option value="">{tr('Deft’s own')}</option>
            {known.data?.map((p) => (
              <option key={p.key} value={p.key}>
                {p.display_name}
              </option>
            ))}
            <option value="custom">{tr('Another program')}</option>
          </select>
        </label>
        {server === 'custom' && (
          <label className="field">
            <span>{tr('Command')}</span>
            <input className="input mono" required spellCheck={false} value={command} onChange={(e) => setCommand(e.target.value)} />
          </label>
        )}
        {server !== '' && (
          <label className="field">
            <span>{tr('Model')}</span>
            <input className="input mono" spellCheck={false} placeholder={tr('the program’s own choice')} value={model} onChange={(e) => setModel(e.target.value)} />
          </label>
        )}
        {server !== '' && (
          <p className="hint">
            {tr('It works in the sandbox with its own tools and models, by the Agent Client Protocol.')} {key && tr('It logs in with the secret {name}.', { name: key })}
          </p>
        )}
        <div>
          <button className="button" disabled={save.isPending}>
            {tr('Save')}
          </button>
        </div>
      </form>
    </section>
  );
}
