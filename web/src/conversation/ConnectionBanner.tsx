import type { Readable } from '../events/store';
import { useView } from '../events/useView';
import { tr } from '../i18n/text';

// ConnectionBanner says when the events of a conversation do not arrive.
export function ConnectionBanner({ store }: { store: Readable }) {
  const connection = useView(store, (v) => v.connection);
  const loaded = useView(store, (v) => v.loaded);
  const failure = useView(store, (v) => v.failure);
  if (connection === 'gone') {
    return (
      <p className="banner bad chat-banner" role="alert">
        {tr('The server no longer has this conversation.')}
      </p>
    );
  }
  if (connection !== 'lost') return null;
  return (
    <p className="banner warn chat-banner" role="status">
      {loaded ? tr('The connection is lost. What happens meanwhile will be shown once it is back.') : failure || tr('Connecting …')}
    </p>
  );
}
