import { useLocation } from 'wouter';
import type { Conversation } from '../api/conversation';
import { Icon } from '../design/Icon';
import { loaded } from '../design/loaded';
import type { EventStore } from '../events/store';
import { useView } from '../events/useView';
import { tr } from '../i18n/text';
import { panels } from './PanelTabs';

const Panel = loaded(
  () => import('../panels/Panel'),
  () => <p className="hint late panel-body">{tr('Loading …')}</p>,
);

interface Props {
  name: string;
  id: string;
  conversation: Conversation;
  store: EventStore;
  onOlder: () => void;
}

// SidePanel is the open panel.
export function SidePanel({ name, id, conversation, store, onOlder }: Props) {
  const [, navigate] = useLocation();
  const panel = panels.find((p) => p.name === name);
  return (
    <aside className="panel" aria-label={panel?.label ?? tr('Panel')}>
      <button className="icon-button panel-close" aria-label={tr('Close the panel')} onClick={() => navigate(`/conversations/${id}`)}>
        <Icon name="close" />
      </button>
      {conversation.live || panel?.stored ? (
        <StorePanel name={name} id={id} conversation={conversation} store={store} onOlder={onOlder} />
      ) : (
        <p className="center">{tr('The sandbox does not run. Resume it to see this.')}</p>
      )}
    </aside>
  );
}

// StorePanel is apart, so that events draw nothing else again.
function StorePanel({ store, ...props }: Props) {
  const { timeline, shown, older } = useView(store, (v) => v);
  return <Panel timeline={timeline} events={shown.events} older={older} {...props} />;
}
