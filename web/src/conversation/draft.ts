// A Draft is the text in the box of a conversation. It outlives a connection.
export interface Draft {
  get: () => string;
  set: (text: string) => void;
}

export function emptyDraft(): Draft {
  let kept = '';
  return {
    get: () => kept,
    set: (text) => {
      kept = text;
    },
  };
}
