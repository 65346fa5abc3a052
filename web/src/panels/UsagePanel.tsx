import { money, tokens } from '../design/format';
import type { Usage } from '../events/usage';

export function UsagePanel({ usage, model }: { usage: Usage; model: string }) {
  const largest = Math.max(1, ...usage.calls.map((c) => c.promptTokens + c.completionTokens));
  const facts: [string, string][] = [
    ['Model', model || '–'],
    ['Cost', money(usage.costUSD)],
    ['Input tokens', tokens(usage.promptTokens)],
    ['of these from the cache', tokens(usage.cachedTokens)],
    ['Output tokens', tokens(usage.completionTokens)],
    ['of these reasoning', tokens(usage.reasoningTokens)],
    ['Context', usage.contextWindow ? `${tokens(usage.contextTokens)} of ${tokens(usage.contextWindow)}` : tokens(usage.contextTokens)],
  ];
  return (
    <div className="panel-body usage">
      <dl>
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd className="number">{value}</dd>
          </div>
        ))}
      </dl>
      {usage.calls.length > 0 && (
        <>
          <h2>Calls of the model</h2>
          <table className="calls number">
            <thead>
              <tr>
                <th scope="col">#</th>
                <th scope="col" className="grow">
                  <span className="visually-hidden">Size</span>
                </th>
                <th scope="col">Input</th>
                <th scope="col">Cached</th>
                <th scope="col">Output</th>
                <th scope="col">Time</th>
              </tr>
            </thead>
            <tbody>
              {usage.calls.map((c, i) => (
                <tr key={i}>
                  <td>{i + 1}</td>
                  <td>
                    <svg className="bar-chart" width="100%" height="8" aria-hidden="true">
                      <rect width={`${(100 * c.promptTokens) / largest}%`} height="8" className="bar-prompt" />
                      <rect width={`${(100 * c.cachedTokens) / largest}%`} height="8" className="bar-cached" />
                      <rect
                        x={`${(100 * c.promptTokens) / largest}%`}
                        width={`${(100 * c.completionTokens) / largest}%`}
                        height="8"
                        className="bar-completion"
                      />
                    </svg>
                  </td>
                  <td>{tokens(c.promptTokens)}</td>
                  <td>{tokens(c.cachedTokens)}</td>
                  <td>{tokens(c.completionTokens)}</td>
                  <td>{c.seconds.toFixed(1)} s</td>
                </tr>
              ))}
            </tbody>
          </table>
        </>
      )}
    </div>
  );
}
