import { useQuery } from '@tanstack/react-query';
import { isolationTrialQuery, sandboxSpecQuery } from '../api/sandboxes';
import { Failed } from '../design/Failed';
import { IsolationReport } from '../design/IsolationReport';
import { trNodes } from '../i18n/nodes';
import { tr } from '../i18n/text';

const texts: Record<string, string> = {
  process: tr('They work in the sandbox that is built in.'),
  none: tr('They work in no sandbox.'),
};

// Isolation shows the sandbox of new conversations and its isolation: the server starts one
// to find out.
export function Isolation() {
  const spec = useQuery(sandboxSpecQuery);
  const tried = useQuery(isolationTrialQuery);
  if (spec.isPending) return null;
  return (
    <section className="card" aria-labelledby="isolation-title">
      <h2 id="isolation-title">{tr('Isolation of new conversations')}</h2>
      <Failed error={spec.error ?? tried.error} />
      {spec.data !== undefined && (
        <p>
          {texts[spec.data] ?? trNodes('They work in {sandbox}.', { sandbox: <code>{spec.data}</code> })} {trNodes('The operator chooses it with {command}.', { command: <code>deft serve --sandbox</code> })}
        </p>
      )}
      <div className="row">
        <button className="button" disabled={tried.isFetching} onClick={() => void tried.refetch()}>
          {tr('Try again')}
        </button>
        <span className="hint">
          {trNodes('{command} also tries what must be forbidden. What is in force for one conversation is in its Agent panel.', { command: <code>deft doctor</code> })}
        </span>
      </div>
      {tried.data ? <IsolationReport isolation={tried.data} /> : !tried.isError && <p role="status">{tr('A sandbox is started to see what is in force …')}</p>}
    </section>
  );
}
