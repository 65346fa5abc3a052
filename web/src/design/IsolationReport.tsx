import type { Isolation } from '../api/sandboxes';
import { tr } from '../i18n/text';
import './facts.css';

const levels: Record<string, { text: string; bad?: boolean }> = {
  namespaces: { text: tr('The built-in sandbox, with namespaces of its own.') },
  landlock: { text: tr('The built-in sandbox with Landlock only: this machine lets it make no namespaces.') },
  container: { text: tr('A container.') },
  remote: { text: tr('A runtime of a Runtime API, on another machine.') },
  none: { text: tr('No sandbox: commands have the rights of this server, and can read and change all that it can.'), bad: true },
};

// IsolationReport shows the isolation of commands, as the sandbox reports it.
export function IsolationReport({ isolation }: { isolation: Isolation }) {
  const { report, detail } = isolation;
  if (!report) return <p className="banner">{detail}</p>;
  const level = levels[report.level] ?? { text: report.level };
  return (
    <div className="isolation">
      <p className={level.bad ? 'banner bad' : undefined}>{level.text}</p>
      {report.features.length > 0 && (
        <>
          <p className="agent-label">{tr('In force')}</p>
          <ul className="tags">
            {report.features.map((f) => (
              <li key={f} className="tag">
                {f}
              </li>
            ))}
          </ul>
        </>
      )}
      {(report.missing ?? []).length > 0 && (
        <>
          <p className="agent-label">{tr('Not in force')}</p>
          <dl className="facts">
            {report.missing?.map((m) => (
              <div key={m.feature}>
                <dt>{m.feature}</dt>
                <dd>{m.reason}</dd>
              </div>
            ))}
          </dl>
        </>
      )}
      {(report.bounds ?? []).length > 0 && (
        <>
          <p className="agent-label">{tr('Limits')}</p>
          <dl className="facts">
            {report.bounds?.map((b) => (
              <div key={b.resource}>
                <dt>{b.resource}</dt>
                <dd>{b.value}</dd>
              </div>
            ))}
          </dl>
        </>
      )}
    </div>
  );
}
