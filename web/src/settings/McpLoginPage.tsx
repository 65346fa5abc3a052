import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { Link } from 'wouter';
import { describe } from '../api/failure';
import { endLogin } from '../api/mcpServers';
import { tr } from '../i18n/text';
import { setTitle } from '../design/title';

// McpLoginPage is where the login page of an MCP server sends the browser back to. The code in the
// address counts once, for this browser, and does not stay in the history.
export default function McpLoginPage() {
  const [query] = useState(() => new URLSearchParams(window.location.search));
  const login = useQuery({ queryKey: ['mcp-login', query.get('state')], queryFn: () => endLogin(query), retry: false, staleTime: Infinity });
  useEffect(() => {
    setTitle(tr('Login at an MCP server'));
    window.history.replaceState(null, '', window.location.pathname);
  }, []);
  const failure = login.isError ? describe(login.error) : login.data && !login.data.works ? login.data.message : null;
  return (
    <div className="center" role="status">
      <h1>{login.isPending ? tr('Logging in …') : failure === null ? tr('You are logged in at {name}', { name: login.data?.name ?? '' }) : tr('The login has failed')}</h1>
      {failure !== null && <p className="banner bad">{failure}</p>}
      {!login.isPending && (
        <Link className="button" href="/settings/tools">
          {tr('MCP servers')}
        </Link>
      )}
    </div>
  );
}
