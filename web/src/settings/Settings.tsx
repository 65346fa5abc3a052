import { useEffect, useState } from 'react';
import { Link } from 'wouter';
import { setTheme, theme, type Theme } from '../design/theme';
import { Models } from './Models';
import { Secrets } from './Secrets';
import './settings.css';

const tabs = [
  { name: 'models', label: 'Models' },
  { name: 'secrets', label: 'Secrets' },
  { name: 'appearance', label: 'Appearance' },
];

export default function Settings({ tab }: { tab: string }) {
  useEffect(() => {
    document.title = 'Settings · Deft';
  }, []);
  return (
    <div className="settings">
      <div className="settings-inner">
        <h1>Settings</h1>
        <nav className="settings-tabs" aria-label="Settings">
          {tabs.map((t) => (
            <Link key={t.name} href={`/settings/${t.name}`} aria-current={t.name === tab ? 'page' : undefined}>
              {t.label}
            </Link>
          ))}
        </nav>
        {tab === 'models' && <Models />}
        {tab === 'secrets' && <Secrets />}
        {tab === 'appearance' && <Appearance />}
      </div>
    </div>
  );
}

const themes: { value: Theme; label: string }[] = [
  { value: 'system', label: 'As the system' },
  { value: 'light', label: 'Light' },
  { value: 'dark', label: 'Dark' },
];

function Appearance() {
  const [chosen, setChosen] = useState(theme);
  return (
    <section className="card">
      <fieldset className="choices">
        <legend>Theme</legend>
        {themes.map((t) => (
          <label key={t.value} className="row">
            <input
              type="radio"
              name="theme"
              checked={chosen === t.value}
              onChange={() => {
                setTheme(t.value);
                setChosen(t.value);
              }}
            />
            {t.label}
          </label>
        ))}
      </fieldset>
    </section>
  );
}
