import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { FormDialog } from '../design/FormDialog';
import { tr } from '../i18n/text';

interface Props {
  name: string; // of the entry
  loses: string; // the consequence, in words
  disabled?: boolean;
  onDelete: () => Promise<unknown> | void;
}

// DeleteButton deletes an entry of a list after a question: no entry comes back.
export function DeleteButton({ name, loses, disabled = false, onDelete }: Props) {
  const [asking, setAsking] = useState(false);
  const remove = useMutation({ mutationFn: async () => onDelete(), onSuccess: () => setAsking(false) });
  const close = () => {
    remove.reset();
    setAsking(false);
  };
  return (
    <>
      <button type="button" className="button quiet" aria-label={tr('Delete {title}', { title: name })} disabled={disabled} onClick={() => setAsking(true)}>
        {tr('Delete')}
      </button>
      {asking && (
        <FormDialog title={tr('Delete {title}?', { title: name })} button={tr('Delete')} danger action={remove} onClose={close}>
          <p>{loses}</p>
        </FormDialog>
      )}
    </>
  );
}
