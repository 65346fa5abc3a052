import { useMutation, useQuery, useQueryClient, type UseQueryOptions } from '@tanstack/react-query';
import { useState } from 'react';

// useChoice is a setting that the server keeps. A new value shows at once; if the server
// refuses it, the former one shows again, with the reason as the error.
export function useChoice<Answer, T>(query: UseQueryOptions<Answer, Error, T, string[]>, store: (value: T) => Promise<void>) {
  const queries = useQueryClient();
  const stored = useQuery(query);
  // The state of the mutation reaches the page a moment later; by then the browser has put
  // the control back.
  const [chosen, setChosen] = useState<{ value: T } | null>(null);
  const save = useMutation({
    mutationFn: store,
    onSettled: async () => {
      await queries.invalidateQueries({ queryKey: query.queryKey });
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
