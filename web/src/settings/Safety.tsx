import { describe } from '../api/failure';
import { presetQuery, setPreset, type Preset } from '../api/confirmation';
import { useChoice } from './useChoice';
import { tr } from '../i18n/text';

const choices: { label: string; hint: string; preset: Preset }[] = [
  { label: tr('Never'), hint: tr('The agent works alone. The sandbox still limits what it can do.'), preset: 'never' },
  { label: tr('Before risky actions'), hint: tr('The model and Deft say how risky each action is; medium is allowed, high and unknown wait for you.'), preset: 'risky' },
  { label: tr('Before every action'), hint: tr('Nothing happens without you.'), preset: 'always' },
];

// Safety says when the agent asks. It holds for new conversations.
export function Safety() {
  const safety = useChoice(presetQuery, setPreset);
  return (
    <section className="card">
      {safety.error && (
        <p className="banner bad" role="alert">
          {describe(safety.error)}
        </p>
      )}
      <fieldset className="choices" disabled={!safety.value}>
        <legend>{tr('When does the agent ask?')}</legend>
        {choices.map((c) => (
          <label key={c.label} className="row choice">
            <input type="radio" name="confirm" checked={c.preset === safety.value} onChange={() => safety.choose(c.preset)} />
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
