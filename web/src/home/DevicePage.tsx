import { useMutation } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { describe } from '../api/failure';
import { allowDevice } from '../api/signIn';
import { tr } from '../i18n/text';
import { setTitle } from '../design/title';
import './home.css';

// DevicePage asks the user whether a program may work in his name. The program has opened the
// page with its code, or shows the code to the user.
export default function DevicePage() {
  const [given] = useState(() => /^[A-Z]{4}-[A-Z]{4}$/.exec(new URLSearchParams(window.location.search).get('user_code') ?? '')?.[0] ?? '');
  const [typed, setTyped] = useState('');
  const code = given || typed.trim();
  const allow = useMutation({ mutationFn: () => allowDevice(code) });

  useEffect(() => {
    setTitle(tr('Sign a program in'));
  }, []);

  if (allow.isSuccess) {
    return (
      <div className="center" role="status">
        <h1>{tr('The program is signed in')}</h1>
        <p>{tr('You can close this page. The settings list its key under API keys, where you can delete it.')}</p>
      </div>
    );
  }
  return (
    <div className="home">
      <form
        className="home-inner"
        onSubmit={(event) => {
          event.preventDefault();
          if (code) allow.mutate();
        }}
      >
        <h1>{tr('Sign a program in')}</h1>
        <p>{tr('A program asks for a key to this server. With it, it can do all that you can: read and start conversations, change settings, run commands in sandboxes.')}</p>
        {given ? (
          <p>
            {tr('Its code:')} <code className="device-code">{given}</code>
          </p>
        ) : (
          <label className="field">
            <span>{tr('The code that the program shows')}</span>
            <input className="input" value={typed} onChange={(event) => setTyped(event.target.value)} autoComplete="off" spellCheck={false} />
          </label>
        )}
        <p className="banner warn">{tr('Allow it only if you have just asked for this yourself. If somebody has sent you the link or the code, close this page.')}</p>
        {allow.isError && (
          <p className="banner bad" role="alert">
            {describe(allow.error)}
          </p>
        )}
        <div className="row">
          <button className="button primary" disabled={!code || allow.isPending}>
            {tr('Allow')}
          </button>
        </div>
      </form>
    </div>
  );
}
