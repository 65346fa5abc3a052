import { presetQuery, setPreset, type Preset } from '../api/confirmation';
import { Failed } from '../design/Failed';
import { Choices } from './Choices';
import { useChoice } from './useChoice';
import { tr } from '../i18n/text';

const choices: { value: Preset; label: string; hint: string }[] = [
  { label: tr('Never'), hint: tr('The agent works alone. The sandbox still limits what it can do.'), value: 'never' },
  { label: tr('Before risky actions'), hint: tr('The model and Deft say how risky each action is; medium is allowed, high and unknown wait for you.'), value: 'risky' },
  { label: tr('Before every action'), hint: tr('Nothing happens without you.'), value: 'always' },
];

// Safety says when the agent asks. It holds for new conversations.
export function Safety() {
  const safety = useChoice(presetQuery, setPreset);
  return (
    <section className="card">
      <Failed error={safety.error} />
      <Choices name="confirm" legend={tr('When does the agent ask?')} all={choices} value={safety.value} choose={safety.choose} />
      <p className="hint">{tr('This holds for new conversations. Each one can be changed in its menu.')}</p>
    </section>
  );
}
