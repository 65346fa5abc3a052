import { moreToolsQuery, setMoreTools } from '../api/moreTools';
import { Failed } from '../design/Failed';
import { tr } from '../i18n/text';
import { useChoice } from './useChoice';

const tools = [
  { name: 'browser_tool_set', label: tr('Browser'), hint: tr('It reads and uses web pages in a Chromium of the sandbox, which you can watch and take over.') },
  { name: 'ipython', label: tr('Notebook'), hint: tr('It runs Python in a Jupyter kernel that keeps its variables, with plots.') },
];

// MoreTools says which tools agents have beside the usual ones. It holds for new conversations.
export function MoreTools() {
  const chosen = useChoice(moreToolsQuery, setMoreTools);
  const set = (name: string, on: boolean) => chosen.choose(on ? [...(chosen.value ?? []), name] : (chosen.value ?? []).filter((n) => n !== name));
  return (
    <section className="card">
      <Failed error={chosen.error} />
      <fieldset className="choices" disabled={!chosen.value || chosen.pending}>
        <legend>{tr('Which further tools has the agent?')}</legend>
        {tools.map((t) => (
          <label key={t.name} className="row choice">
            <input type="checkbox" checked={chosen.value?.includes(t.name) ?? false} onChange={(e) => set(t.name, e.target.checked)} />
            <span>
              {t.label}
              <br />
              <span className="hint">{t.hint}</span>
            </span>
          </label>
        ))}
      </fieldset>
      <p className="hint">{tr('Their descriptions are part of each request to the model. This holds for new conversations.')}</p>
    </section>
  );
}
