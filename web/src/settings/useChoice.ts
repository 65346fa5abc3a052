import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';

// useChoice is a setting whose value the server keeps. A new value shows at once; if the
// server refuses it, the former one shows again, with the reason as the error.
export function useChoice<T>(key: string, load: () => Promise<T>, store: (value: T) => Promise<void>) {
  const queries = useQueryClient();
  const stored = useQuery({ queryKey: [key], queryFn: load });
  // The state of the query and of the mutation reaches the page a moment later, when
  // the browser has already put the control back.
  const [chosen, setChosen] = useState<{ value: T } | null>(null);
  const save = useMutation({
    mutationFn: store,
    onSuccess: (_, value) => queries.setQueryData([key], value),
    onSettled: async () => {
      await queries.invalidateQueries({ queryKey: [key] });
      setChosen(null);
    },
  });
  return {
    value: chosen ? chosen.value : stored.data,
    pending: save.isPending,
    error: save.error ?? stored.error,
    choose: (value: T, done?: () => void) => {
      setChosen({ value });
      save.mutate(value, { onSuccess: done });
    },
  };
}
