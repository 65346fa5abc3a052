import { useEffect, useState } from 'react';
import { Link } from 'wouter';
import { setTheme, theme, type Theme } from '../design/theme';
import { notices, setNotices } from '../design/notices';
import { useCurrent } from '../design/row';
import { setTitle } from '../design/title';
import { AccountPage } from './AccountPage';
import { GitPage } from './GitPage';
import { Isolation } from './Isolation';
import { Keyboard } from './Keyboard';
import { Keys } from './Keys';
import { McpServers } from './McpServers';
import { Models } from './Models';
import { Plugins } from './Plugins';
import { Safety } from './Safety';
import { settingsTabs } from './tabs';
import { TakeOver } from './TakeOver';
import { Secrets } from './Secrets';
import { Skills } from './Skills';
import { choose as chooseLanguage, chosen as chosenLanguage, languages, tr, type Language } from '../i18n/text';
import './settings.css';

export default function Settings({ tab }: { tab: string }) {
  const tabs = useCurrent(tab);
  useEffect(() => {
    setTitle(tr('Settings'));
  }, []);
  return (
    <div className="settings">
      <div className="settings-inner">
        <h1>{tr('Settings')}</h1>
        <nav ref={tabs} className="settings-tabs" aria-label={tr('Settings')}>
          {settingsTabs.map((t) => (
            <Link key={t.name} href={`/settings/${t.name}`} aria-current={t.name === tab ? 'page' : undefined}>
              {t.label}
            </Link>
          ))}
        </nav>
        <div className="settings-page">
          {settingsTabs.every((t) => t.name !== tab) && <p>{tr('There is no such page')}.</p>}
          {tab === 'models' && <Models />}
          {tab === 'secrets' && <Secrets />}
          {tab === 'safety' && <Safety />}
          {tab === 'sandbox' && <Isolation />}
          {tab === 'tools' && <McpServers />}
          {tab === 'skills' && <Skills />}
          {tab === 'plugins' && <Plugins />}
          {tab === 'git' && <GitPage />}
          {tab === 'keys' && <Keys />}
          {tab === 'account' && <AccountPage />}
          {tab === 'import' && <TakeOver />}
          {tab === 'keyboard' && <Keyboard />}
          {tab === 'appearance' && <Appearance />}
        </div>
      </div>
    </div>
  );
}

const themes: { value: Theme; label: string }[] = [
  { value: 'system', label: tr('As the system') },
  { value: 'light', label: tr('Light') },
  { value: 'dark', label: tr('Dark') },
];

function Appearance() {
  const [chosen, setChosen] = useState(theme);
  return (
    <section className="card">
      <fieldset className="choices">
        <legend>{tr('Theme')}</legend>
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
      <LanguageChoice />
      <Notices />
    </section>
  );
}

// LanguageChoice is kept in this browser. Another language loads the page anew.
function LanguageChoice() {
  const wanted = chosenLanguage();
  return (
    <label className="field">
      <span>{tr('Language')}</span>
      <select className="input" value={wanted ?? ''} onChange={(e) => chooseLanguage((e.target.value || null) as Language | null)}>
        <option value="">{tr('As the browser')}</option>
        {Object.entries(languages).map(([value, label]) => (
          <option key={value} value={value} lang={value}>
            {label}
          </option>
        ))}
      </select>
    </label>
  );
}

function Notices() {
  const [on, setOn] = useState(notices);
  const [refused, setRefused] = useState(false);
  if (!('Notification' in window)) return null;
  return (
    <fieldset className="choices">
      <legend>{tr('Notices')}</legend>
      <label className="row">
        <input
          type="checkbox"
          checked={on}
          onChange={(e) => {
            const wanted = e.target.checked;
            setOn(wanted); // until the browser has answered
            void setNotices(wanted).then((now) => {
              setOn(now);
              setRefused(wanted && !now);
            });
          }}
        />
        {tr('Tell me when an agent has finished or asks, while I look elsewhere')}
      </label>
      {refused && <p className="hint">{tr('This browser does not allow it: change that beside the address of this page.')}</p>}
    </fieldset>
  );
}
