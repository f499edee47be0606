/** The floor of the webhook: a bare node:http server that checks the signature and keeps nothing. Secret on standard input. */
import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

const secret = await text(process.stdin);

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    const wanted = createHmac("sha256", secret).update(Buffer.concat(chunks)).digest();
    const given = Buffer.from(String(request.headers["x-hub-signature-256"]).slice("sha256=".length), "hex");
    const good = given.length === wanted.length && timingSafeEqual(given, wanted);
    const answer = JSON.stringify({ success: good });
    response.writeHead(good ? 200 : 401, {
      "content-type": "application/json",
      "content-length": answer.length,
    });
    response.end(answer);
  });
});
server.listen(0, "127.0.0.1", () => console.log((server.address() as AddressInfo).port));
