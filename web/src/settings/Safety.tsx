import { describe } from '../api/failure';
import { safetyQuery, setSafety, type Safety as Choice } from '../api/confirmation';
import { useChoice } from './useChoice';
import { tr } from '../i18n/text';

const choices: { label: string; hint: string; value: Choice }[] = [
  { label: tr('Never'), hint: tr('The agent works alone. The sandbox still limits what it can do.'), value: { confirm: false, analyze: true } },
  { label: tr('Before risky actions'), hint: tr('The model and Deft say how risky each action is; medium is allowed, high and unknown wait for you.'), value: { confirm: true, analyze: true } },
  { label: tr('Before every action'), hint: tr('Nothing happens without you.'), value: { confirm: true, analyze: false } },
];

// Safety says when the agent asks. It holds for new conversations.
export function Safety() {
  const safety = useChoice(safetyQuery, setSafety);
  const now = safety.value;
  const chosen = choices.findIndex(({ value }) => now && value.confirm === now.confirm && (!value.confirm || value.analyze === now.analyze));
  return (
    <section className="card">
      {safety.error && (
        <p className="banner bad" role="alert">
          {describe(safety.error)}
        </p>
      )}
      <fieldset className="choices" disabled={!now}>
        <legend>{tr('When does the agent ask?')}</legend>
        {choices.map((c, i) => (
          <label key={c.label} className="row choice">
            <input type="radio" name="confirm" checked={i === chosen} onChange={() => safety.choose(c.value)} />
            <span>
              {c.label}
              <br />
              <span className="hint">{c.hint}</span>
            </span>
          </label>
        ))}
      </fieldset>
      <p className="hint">{tr('This holds for new conversations. Each one can be changed in its menu.')}</p>
    </section>
  );
}
