import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { describe } from '../api/failure';
import { accountQuery, endOtherSessions, endSession, sessionsQuery, signOut } from '../api/signIn';
import { ago } from '../design/format';
import { tr } from '../i18n/text';
import { browserName } from './browserName';

// AccountPage shows who is signed in, and in which browsers.
export function AccountPage() {
  const queries = useQueryClient();
  const account = useQuery(accountQuery);
  const sessions = useQuery(sessionsQuery);
  const refresh = () => queries.invalidateQueries({ queryKey: sessionsQuery.queryKey });
  const end = useMutation({ mutationFn: endSession, onSettled: refresh });
  const endOthers = useMutation({ mutationFn: endOtherSessions, onSettled: refresh });
  const leave = useMutation({ mutationFn: signOut });
  const failure = account.error ?? sessions.error ?? end.error ?? endOthers.error ?? leave.error;
  if (account.isPending || sessions.isPending) return null; // else the buttons below would move
  const { name, email } = account.data ?? { name: '', email: '' };
  return (
    <section className="card" aria-labelledby="account-title">
      <h2 id="account-title">{tr('Account')}</h2>
      {failure && (
        <p className="banner bad" role="alert">
          {describe(failure)}
        </p>
      )}
      <p>{name ? [name, email !== name && email].filter(Boolean).join(', ') : tr('The owner of this server, signed in by its printed link.')}</p>
      <div className="row">
        <button className="button" disabled={leave.isPending} onClick={() => leave.mutate()}>
          {tr('Sign out')}
        </button>
      </div>
      <h3>{tr('Browsers that are signed in')}</h3>
      <ul className="settings-list">
        {sessions.data?.map((s) => (
          <li key={s.id}>
            <span className="grow">
              <span title={s.device}>{browserName(s.device)}</span>
              <br />
              <span className="hint">
                {s.current
                  ? tr('this browser')
                  : s.used_at
                    ? tr('signed in {made}, used {used}', { made: ago(s.created_at), used: ago(s.used_at) })
                    : tr('signed in {made}', { made: ago(s.created_at) })}
              </span>
            </span>
            {!s.current && (
              <button className="button quiet" aria-label={tr('Sign out: {device}', { device: browserName(s.device) })} disabled={end.isPending} onClick={() => end.mutate(s.id)}>
                {tr('Sign out')}
              </button>
            )}
          </li>
        ))}
      </ul>
      {(sessions.data?.length ?? 0) > 1 && (
        <div className="row">
          <button className="button" disabled={endOthers.isPending} onClick={() => endOthers.mutate()}>
            {tr('Sign all other browsers out')}
          </button>
        </div>
      )}
    </section>
  );
}
