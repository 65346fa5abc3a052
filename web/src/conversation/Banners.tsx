import { describe } from '../api/failure';
import type { EventStore } from '../events/store';
import { useView } from '../events/useView';
import { tr } from '../i18n/text';
import { ConnectionBanner } from './ConnectionBanner';
import type { Control } from './useControl';

interface Props {
  store: EventStore;
  control: Control;
  failure: string;
  onClose: () => void; // of the failure
}

// Banners are the notices above a conversation.
export function Banners({ store, control, failure, onClose }: Props) {
  return (
    <>
      <ConnectionBanner store={store} />
      <MissedBanner store={store} />
      {control.error && (
        <p className="banner bad chat-banner" role="alert">
          {describe(control.error)}
        </p>
      )}
      {failure && (
        <p className="banner bad chat-banner" role="alert">
          <span className="grow">{failure}</span>
          <button className="button quiet" onClick={onClose}>
            {tr('Close')}
          </button>
        </p>
      )}
      {control.condensing && (
        <p className="banner chat-banner late" role="status">
          {tr('The history is being summarised; the agent can go on when that is done.')}
        </p>
      )}
    </>
  );
}

// MissedBanner says why the event that was looked for is not shown.
export function MissedBanner({ store }: { store: EventStore }) {
  const missed = useView(store, (v) => v.missed);
  if (missed === '') return null;
  return (
    <p className="banner warn chat-banner" role="status">
      <span className="grow">{missed}</span>
      <button className="button quiet" onClick={store.forgetMissed}>
        {tr('Close')}
      </button>
    </p>
  );
}
