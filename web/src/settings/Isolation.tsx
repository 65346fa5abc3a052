import { useQuery } from '@tanstack/react-query';
import type { AppRoutes } from '../api/source';
import { Failed } from '../design/Failed';
import { IsolationReport } from '../design/IsolationReport';

const texts: Record<string, string> = {
  process: 'the sandbox that is built in',
  none: 'no sandbox',
};

// Isolation says what new conversations work in, and what of it is in force: the server
// starts a sandbox to find out.
export function Isolation({ app }: { app: AppRoutes }) {
  const spec = useQuery({ queryKey: ['sandbox-spec'], queryFn: () => app.sandboxSpec() });
  const tried = useQuery({ queryKey: ['isolation'], queryFn: () => app.isolation(null), retry: false, staleTime: Infinity });
  return (
    <section className="card" aria-labelledby="isolation-title">
      <h2 id="isolation-title">Isolation of new conversations</h2>
      <Failed error={spec.error ?? tried.error} />
      {spec.data !== undefined && (
        <p>
          They work in {texts[spec.data] ?? <code>{spec.data}</code>}. The operator chooses it with <code>deft serve --sandbox</code>.
        </p>
      )}
      {tried.data ? <IsolationReport isolation={tried.data} /> : !tried.isError && <p role="status">A sandbox is started to see what is in force …</p>}
      <div className="row">
        <button className="button" disabled={tried.isFetching} onClick={() => void tried.refetch()}>
          Try again
        </button>
        <span className="hint">
          <code>deft doctor</code> also tries what must be forbidden. What is in force for one conversation is in its Agent panel.
        </span>
      </div>
    </section>
  );
}
