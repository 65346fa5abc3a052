// Node has a WebSocket, but the client looks for one in a window, as soon as
// it is loaded.
globalThis.window = globalThis;
