import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { describe } from '../api/failure';
import type { AppRoutes, Safety as Choice } from '../api/source';

const choices: { label: string; hint: string; value: Choice }[] = [
  { label: 'Never', hint: 'The agent works alone. The sandbox still limits what it can do.', value: { confirm: false, analyze: true } },
  { label: 'Before risky actions', hint: 'The model says how risky each action is; medium is allowed, high and unknown wait for you.', value: { confirm: true, analyze: true } },
  { label: 'Before every action', hint: 'Nothing happens without you.', value: { confirm: true, analyze: false } },
];

// Safety says when the agent asks. It holds for new conversations.
export function Safety({ app }: { app: AppRoutes }) {
  const queries = useQueryClient();
  const current = useQuery({ queryKey: ['safety'], queryFn: () => app.safety() });
  const save = useMutation({ mutationFn: (value: Choice) => app.setSafety(value), onSettled: () => queries.invalidateQueries({ queryKey: ['safety'] }) });
  const failure = save.error ?? current.error;
  const now = current.data;
  const chosen = choices.findIndex(({ value }) => now && value.confirm === now.confirm && (!value.confirm || value.analyze === now.analyze));
  return (
    <section className="card">
      {failure && (
        <p className="banner bad" role="alert">
          {describe(failure)}
        </p>
      )}
      <fieldset className="choices" disabled={!current.data}>
        <legend>When does the agent ask?</legend>
        {choices.map((c, i) => (
          <label key={c.label} className="row choice">
            <input type="radio" name="confirm" checked={i === chosen} onChange={() => (queries.setQueryData(['safety'], c.value), save.mutate(c.value))} />
            <span>
              {c.label}
              <br />
              <span className="hint">{c.hint}</span>
            </span>
          </label>
        ))}
      </fieldset>
      <p className="hint">This holds for new conversations. Each one can be changed in its menu.</p>
    </section>
  );
}
