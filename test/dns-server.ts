/** A name server under a test's control, on UDP: each name has a list of answers, taken in turn, the last one for ever. */
import { createSocket } from "node:dgram";
import { once } from "node:events";

export type Names = Record<string, readonly (readonly string[])[]>;

export async function openDnsServer(names: Names) {
  const asked: string[] = [];
  const turns = new Map<string, number>();
  const socket = createSocket("udp4");
  socket.on("message", (query, from) => {
    const { name, type, end } = questionOf(query);
    const answers = names[name];
    let addresses: readonly string[] = [];
    if (type === 1 && answers !== undefined) {
      asked.push(name);
      const turn = turns.get(name) ?? 0;
      turns.set(name, turn + 1);
      addresses = answers[Math.min(turn, answers.length - 1)] ?? [];
    }
    socket.send(replyTo(query, end, addresses, answers === undefined), from.port, from.address);
  });
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  return {
    address: `127.0.0.1:${socket.address().port}`,
    asked,
    close: () => new Promise<void>((resolve) => socket.close(() => resolve())),
  };
}

function questionOf(query: Buffer) {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString("latin1", at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join(".").toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 };
}

function replyTo(query: Buffer, end: number, addresses: readonly string[], unknown: boolean): Buffer {
  const header = Buffer.from(query.subarray(0, 12));
  header.writeUInt16BE(unknown ? 0x8183 : 0x8180, 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(addresses.length, 6);
  header.writeUInt32BE(0, 8);
  const records = addresses.map((address) =>
    Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, ...address.split(".").map(Number)]),
  );
  return Buffer.concat([header, query.subarray(12, end), ...records]);
}
