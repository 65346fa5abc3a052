import { useQuery } from '@tanstack/react-query';
import { useEffect } from 'react';
import { describe } from '../api/failure';
import { failedSignIn, providerQuery, signInAddress, UsedLink } from '../api/signIn';
import { setTitle } from '../design/title';
import { tr } from '../i18n/text';
import './home.css';

// SignInPage is for a browser that is not signed in, or not any more.
export default function SignInPage({ error, retry }: { error: Error; retry: () => void }) {
  const provider = useQuery(providerQuery);
  useEffect(() => {
    setTitle(tr('Sign in'));
  }, []);
  if (provider.isPending) return null;
  const failed = failedSignIn();
  const used = error instanceof UsedLink ? describe(error) : '';
  return (
    <main className="center">
      <h1>{tr('You are not signed in')}</h1>
      {failed && (
        <p className="banner bad" role="alert">
          {failed}
        </p>
      )}
      {used && <p>{used}</p>}
      {provider.isError && <p>{describe(provider.error)}</p>}
      {provider.data ? (
        <a className="button primary" href={signInAddress(provider.data)}>
          {tr('Sign in with {name}', { name: provider.data.name })}
        </a>
      ) : (
        <>
          {!used && <p>{tr('Open the address that Deft printed when it started: it signs you in.')}</p>}
          <button className="button primary" onClick={retry}>
            {tr('Try again')}
          </button>
        </>
      )}
    </main>
  );
}
