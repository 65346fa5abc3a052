package sqlite

const kindMessage = "MessageEvent"
