import type { Conversation } from '../api/conversation';
import { loaded } from '../design/loaded';
import type { Event } from '../api/event';
import type { Timeline } from '../events/timeline';
import { AgentPanel } from './AgentPanel';
import { Apps } from './Apps';
import { Browser } from './Browser';
import { Changes } from './Changes';
import { Files } from './Files';
import { PlanPanel } from './PlanPanel';
import { RawEvents } from './RawEvents';
import { UsagePanel } from './UsagePanel';
import { tr } from '../i18n/text';
import './panels.css';

const Terminal = loaded(() => import('./Terminal'));

interface Props {
  name: string;
  id: string;
  conversation: Conversation;
  timeline: Timeline;
  events: Event[]; // that the conversation shows
  older: 'none' | 'more' | 'loading';
  onOlder: () => void;
}

export default function Panel({ name, id, conversation, timeline, events, older, onOlder }: Props) {
  switch (name) {
    case 'changes':
      return <Changes conversation={conversation} timeline={timeline} id={id} />;
    case 'files':
      return <Files conversation={conversation} timeline={timeline} />;
    case 'terminal':
      return <Terminal conversation={conversation} />;
    case 'apps':
      return <Apps id={id} />;
    case 'browser':
      return <Browser conversation={conversation} items={timeline.items} />;
    case 'plan':
      return <PlanPanel conversation={conversation} timeline={timeline} />;
    case 'agent':
      return <AgentPanel conversation={conversation} />;
    case 'usage':
      return <UsagePanel conversation={conversation} usage={timeline.usage} model={timeline.model} />;
    case 'events':
      return <RawEvents events={events} older={older} onOlder={onOlder} />;
    default:
      return <p className="center">{tr('There is no such panel.')}</p>;
  }
}
