/** The floor of a read: one Hono route on Node that answers JSON it has in memory. The JSON on standard input. */
import { text } from "node:stream/consumers";
import { serve } from "@hono/node-server";
import { Hono } from "hono";

const answer = JSON.parse(await text(process.stdin)) as object;
const app = new Hono();
app.get("/api/projects/:id", (c) => c.json(answer));
serve({ fetch: app.fetch, hostname: "127.0.0.1", port: 0 }, ({ port }) => console.log(port));
