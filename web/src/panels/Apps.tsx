import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { appsQuery, editorQuery, openEditor } from '../api/apps';
import { describe } from '../api/failure';
import { Icon } from '../design/Icon';
import { tr } from '../i18n/text';

// Apps lists the ports of programs in the sandbox. Their pages are of another
// origin, and are opened without a way back to this one.
export function Apps({ id }: { id: string }) {
  const apps = useQuery(appsQuery(id));
  const items = apps.data?.items ?? [];
  return (
    <div className="panel-body">
      <div className="panel-tools">
        <span className="hint grow">{tr('Programs of the sandbox that listen on a port')}</span>
        <button className="icon-button" aria-label={tr('Look again')} title={tr('Look again')} disabled={apps.isFetching} onClick={() => void apps.refetch()}>
          <Icon name="refresh" />
        </button>
      </div>
      <Editor id={id} />
      {apps.isError && (
        <p className="banner bad" role="alert">
          {describe(apps.error)}
        </p>
      )}
      {apps.data?.detail && (
        <p className="banner warn" role="status">
          {apps.data.detail}
        </p>
      )}
      {apps.data && items.length === 0 && !apps.data.detail && !apps.isError && <p className="hint">{tr('No program listens now. Ask the agent to start one, for example a web server.')}</p>}
      {items.length > 0 && (
        <ul className="app-list" aria-label={tr('Programs')}>
          {items.map((a) => (
            <li key={`${a.port} ${a.address}`}>
              <Icon name="globe" />
              {a.url && /^https?:\/\//.test(a.url) ? (
                <a href={a.url} target="_blank" rel="noopener noreferrer">
                  {tr('Port {port}', { port: a.port })}
                </a>
              ) : (
                <span>{tr('Port {port}', { port: a.port })}</span>
              )}
              <span className="hint mono ellipsis">{a.address}</span>
            </li>
          ))}
        </ul>
      )}
      {items.some((a) => a.url) && <p className="hint">{tr('Whoever has the address of one of these links may use it. Do not pass it on.')}</p>}
    </div>
  );
}

// Editor starts VS Code, if the sandbox has it, and leads to it.
function Editor({ id }: { id: string }) {
  const queries = useQueryClient();
  const editor = useQuery(editorQuery(id));
  const start = useMutation({
    mutationFn: () => openEditor(id),
    onSuccess: (url) => {
      queries.setQueryData(editorQuery(id).queryKey, { name: editor.data?.name ?? '', url });
      void queries.invalidateQueries({ queryKey: appsQuery(id).queryKey });
    },
  });
  if (!editor.data?.name) return null;
  const { url } = editor.data;
  return (
    <div className="editor-link">
      <p className="row">
        <Icon name="code" />
        {url && /^https?:\/\//.test(url) ? (
          <a href={url} target="_blank" rel="noopener noreferrer">
            {tr('VS Code of the sandbox')}
          </a>
        ) : (
          <button className="button" disabled={start.isPending} onClick={() => start.mutate()}>
            {tr('Start VS Code')}
          </button>
        )}
        <span className="hint mono">{editor.data.name}</span>
        {start.isPending && (
          <span className="hint late" role="status">
            {tr('It is being started …')}
          </span>
        )}
      </p>
      {start.isError && (
        <p className="banner bad" role="alert">
          {describe(start.error)}
        </p>
      )}
    </div>
  );
}
