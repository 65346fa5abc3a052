import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { Route, Switch, useLocation } from 'wouter';
import { describe, Failure } from './api/failure';
import { onLink, signedInQuery } from './api/signIn';
import { Icon } from './design/Icon';
import { loaded } from './design/loaded';
import { Home } from './home/Home';
import { Sidebar } from './home/Sidebar';
import { AppCommands } from './AppCommands';
import { tr } from './i18n/text';

export const ConversationPage = loaded(() => import('./conversation/ConversationPage'));

const Settings = loaded(() => import('./settings/Settings'));

const AllConversations = loaded(() => import('./home/AllConversations'));

const StartPage = loaded(() => import('./home/StartPage'));

const DevicePage = loaded(() => import('./home/DevicePage'));

const SignInPage = loaded(() => import('./home/SignInPage'));

const McpLoginPage = loaded(() => import('./settings/McpLoginPage'));

const SharedPage = loaded(() => import('./conversation/SharedPage'));

// conversationAt is the id of the conversation that a path shows; undefined: it shows none.
export const conversationAt = (path: string): string | undefined => /^\/conversations\/([\w-]+)/.exec(path)?.[1];

// App is the page. Shared conversations need no sign-in.
export function App() {
  const shared = /^\/shared\/([0-9a-f-]{32,36})$/.exec(window.location.pathname)?.[1];
  if (!shared) return <SignedIn />;
  return <SharedPage id={shared} />;
}

function SignedIn() {
  const signedIn = useQuery(signedInQuery);
  const queries = useQueryClient();
  useEffect(() => onLink(() => void queries.resetQueries()), [queries]);
  const [location] = useLocation();
  const [menuAt, setMenuAt] = useState<string | null>(null); // another page closes the menu
  const menu = menuAt === location;
  const closeMenu = () => setMenuAt(null);
  useEffect(() => {
    // The next page most likely shows a conversation, and must not wait for its script.
    const timer = setTimeout(() => void ConversationPage.preload().catch(() => {}), 500);
    return () => clearTimeout(timer);
  }, []);

  if (signedIn.isPending) return null; // a flash of a spinner would be slower to read
  if (signedIn.isError) {
    const { error } = signedIn;
    const retry = () => void signedIn.refetch();
    return error instanceof Failure && error.unauthorized ? <SignInPage error={error} retry={retry} /> : <NoServer error={error} retry={retry} />;
  }
  return (
    <>
      <AppCommands />
      <a className="skip" href="#main">
        {tr('Skip to the content')}
      </a>
      <div className="shell" data-menu={menu || undefined}>
        <Sidebar onClose={closeMenu} />
        {menu && <button className="scrim" aria-label={tr('Close the menu')} onClick={closeMenu} />}
        <main id="main" tabIndex={-1}>
          <button className="icon-button menu-button" aria-label={tr('Open the menu')} aria-expanded={menu} onClick={() => setMenuAt(location)}>
            <Icon name="menu" />
          </button>
          <Switch>
            <Route path="/">
              <Home />
            </Route>
            <Route path="/starting/:id">{({ id }) => <StartPage key={id} id={id} />}</Route>
            <Route path="/settings/:tab?">{({ tab }) => <Settings tab={tab ?? 'models'} />}</Route>
            <Route path="/device">
              <DevicePage />
            </Route>
            <Route path="/mcp-login">
              <McpLoginPage />
            </Route>
            <Route path="/conversations">
              <AllConversations />
            </Route>
            <Route path="/conversations/:id/:panel?">
              {({ id, panel }) => <ConversationPage key={id} id={id} panel={panel ?? null} />}
            </Route>
            <Route>
              <div className="center">
                <h1>{tr('There is no such page')}</h1>
                <a className="button" href="/">
                  {tr('New task')}
                </a>
              </div>
            </Route>
          </Switch>
        </main>
      </div>
    </>
  );
}

function NoServer({ error, retry }: { error: Error; retry: () => void }) {
  return (
    <main className="center">
      <h1>{tr('The server does not answer')}</h1>
      <p>{describe(error)}</p>
      <button className="button primary" onClick={retry}>
        {tr('Try again')}
      </button>
    </main>
  );
}
