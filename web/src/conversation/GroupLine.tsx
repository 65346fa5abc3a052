import { memo, useMemo } from 'react';
import { duration } from '../design/format';
import { Icon } from '../design/Icon';
import type { Group } from './groups';
import { groupText } from './groupText';
import { plural, tr } from '../i18n/text';

interface Props {
  group: Group;
  onFold: (group: Group) => void;
}

// GroupLine sums up the actions of a group, and folds them.
export const GroupLine = memo(function GroupLine({ group, onFold }: Props) {
  const { text, failed, rejected, running, time } = useMemo(() => groupText(group.members, group.held), [group.members, group.held]);
  return (
    <button className="group-line" aria-expanded={group.open} aria-disabled={group.held || undefined} onClick={() => !group.held && onFold(group)}>
      <span className="action-chevron">
        <Icon name="chevron" size={14} />
      </span>
      <span className="group-text">{text}</span>
      {failed > 0 && <span className="state bad">{plural(failed, '1 failed', '{n} failed')}</span>}
      {rejected > 0 && <span className="state">{plural(rejected, '1 rejected', '{n} rejected')}</span>}
      {running && !group.open && (
        <span className="state">
          <span className="dot running" aria-hidden="true" />
          <span className="visually-hidden">{tr('running')}</span>
        </span>
      )}
      {!running && <span className="state">{duration(time)}</span>}
    </button>
  );
});
