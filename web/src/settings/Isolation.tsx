import { useQuery } from '@tanstack/react-query';
import { describe } from '../api/failure';
import type { AppRoutes } from '../api/source';

const texts: Record<string, string> = {
  process: 'the sandbox that is built in: its own namespaces, Landlock and seccomp, as far as this machine has them',
  none: 'no sandbox: commands have the rights of this server, and can read and change all that it can',
};

// Isolation says what new conversations work in.
export function Isolation({ app }: { app: AppRoutes }) {
  const spec = useQuery({ queryKey: ['sandbox-spec'], queryFn: () => app.sandboxSpec() });
  return (
    <section className="card" aria-labelledby="isolation-title">
      <h2 id="isolation-title">Sandbox</h2>
      {spec.isError && (
        <p className="banner bad" role="alert">
          {describe(spec.error)}
        </p>
      )}
      {spec.data !== undefined && (
        <p className={spec.data === 'none' ? 'banner bad' : undefined}>
          <span>
            New conversations work in {texts[spec.data] ?? <code>{spec.data}</code>}.
          </span>
        </p>
      )}
      <p className="hint">
        The operator chooses it with <code>deft serve --sandbox</code>. <code>deft doctor</code> tries on the machine which of its mechanisms are in force, and says what is missing.
      </p>
    </section>
  );
}
