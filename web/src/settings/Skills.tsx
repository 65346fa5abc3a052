import { describe } from '../api/failure';
import { setSkillsOff, skillsQuery } from '../api/skills';
import { useChoice } from './useChoice';
import { tr } from '../i18n/text';
import { trNodes } from '../i18n/nodes';

// Skills are the skills of this server, each of which can be switched off for new
// conversations. Those of a repository come with it.
export function Skills() {
  const skills = useChoice(skillsQuery, ({ off }) => setSkillsOff(off));
  const { all = [], off = [], problems = [] } = skills.value ?? {};
  return (
    <section className="card" aria-labelledby="skills-title">
      <h2 id="skills-title">{tr('Skills')}</h2>
      <p className="hint">
        {trNodes('What agents know how to do, beside what a repository brings in {directory}. New conversations have those that are on. Your own are files in {own}.', {
          directory: <code>.agents/skills</code>,
          own: <code>~/.agents/skills</code>,
        })}
      </p>
      {skills.error && (
        <p className="banner bad" role="alert">
          {describe(skills.error)}
        </p>
      )}
      {problems.map((text) => (
        <p key={text} className="banner bad" role="alert">
          {text}
        </p>
      ))}
      {skills.value && all.length === 0 && <p className="hint">{tr('There is none yet.')}</p>}
      <ul className="settings-list">
        {all.map((s) => (
          <li key={s.name}>
            <span className="grow">
              <strong>{s.name}</strong> {s.public && <span className="tag">{tr('public')}</span>}
              {s.triggers.length > 0 && (
                <>
                  <br />
                  <span className="hint">{tr('at {triggers}', { triggers: s.triggers.join(', ') })}</span>
                </>
              )}
            </span>
            <label className="row">
              <input
                type="checkbox"
                checked={!off.includes(s.name)}
                disabled={skills.pending}
                onChange={(e) => skills.choose({ all, problems, off: e.target.checked ? off.filter((name) => name !== s.name) : [...off, s.name] })}
              />
              {tr('On')}
              <span className="visually-hidden">: {s.name}</span>
            </label>
          </li>
        ))}
      </ul>
    </section>
  );
}
