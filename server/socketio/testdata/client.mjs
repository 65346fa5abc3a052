// Connects as OpenHands' page does, and prints what it gets, one JSON value a line.
import { createRequire } from "node:module";

const { io } = createRequire(process.argv[2] + "/")("socket.io-client");
const print = (...v) => console.log(JSON.stringify(v));
const socket = io(process.argv[3], {
  transports: ["websocket"], path: "/socket.io", query: { conversation_id: process.argv[4] },
  reconnectionDelay: 50, reconnectionDelayMax: 50, randomizationFactor: 0,
});
let connections = 0;
socket.on("connect", () => {
  print("connect", ++connections);
  socket.emit("oh_user_action", { action: "message", args: { content: "é" } });
});
socket.on("oh_event", (event) => {
  print("oh_event", event);
  socket.emit("nothing", (...args) => {
    print("acknowledged", args.length);
    socket.emit(connections === 1 ? "drop" : "end");
  });
});
socket.on("connect_error", (err) => {
  print("connect_error", err.message, err.data ?? null);
  socket.disconnect();
});
socket.on("disconnect", (reason) => print("disconnect", reason));
