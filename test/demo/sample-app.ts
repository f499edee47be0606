/** A small web app with a Dockerfile: answers its version, and closes like an app should, finishing what it has begun. */
export function sampleApp(version: string): Record<string, string> {
  return {
    Dockerfile: `FROM node:24-bookworm-slim
WORKDIR /app
COPY package.json server.js ./
USER nobody
EXPOSE 3000
CMD ["node", "server.js"]
`,
    "package.json": `${JSON.stringify({ name: "hello", version: "1.0.0", private: true, type: "module" }, null, 2)}\n`,
    "server.js": `import { createServer } from "node:http";

const server = createServer((request, response) => {
  response.setHeader("content-type", "text/plain; charset=utf-8");
  response.end("Hello from version ${version}\\n");
});
server.keepAliveTimeout = 60_000;
server.listen(Number(process.env.PORT ?? 3000), () => console.log("version ${version} listens"));
process.on("SIGTERM", () => {
  server.close(() => process.exit(0));
  server.closeIdleConnections();
});
`,
  };
}
