import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { Conversation } from '../api/conversation';
import { limitsQuery, setLimits, type Limits } from '../api/limits';
import { Failed } from '../design/Failed';
import { FormDialog } from '../design/FormDialog';
import { LimitFields } from '../design/LimitFields';
import { tr } from '../i18n/text';

export function LimitsDialog({ conversation, onClose }: { conversation: Conversation; onClose: () => void }) {
  const stored = useQuery(limitsQuery(conversation));
  const [limits, setChosen] = useState<Limits | null>(null);
  const now = limits ?? stored.data;
  const save = useMutation({ mutationFn: async () => now && (await setLimits(conversation, now)), onSuccess: onClose });
  return (
    <FormDialog title={tr('Limits of this conversation')} button={tr('Save')} ready={now !== undefined && now.steps > 0} action={save} onClose={onClose}>
      <Failed error={stored.error} />
      {now && <LimitFields limits={now} onLimits={setChosen} />}
    </FormDialog>
  );
}
