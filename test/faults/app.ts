/** What the cases deploy: an app that says its version, in a build that counts, and on demand takes its time. */
export interface AppOptions {
  /** The build goes on for about eight seconds. */
  slowBuild?: boolean;
  /** It is not well before `makeWell`. */
  sick?: boolean;
}

export const buildLines = 40;
/** Made in a sick container, the app is well. Survives a restart of the container. */
export const wellFile = "/tmp/well";

export function countingApp(version: string, { slowBuild = false, sick = false }: AppOptions = {}) {
  const pause = slowBuild ? "sleep 0.2" : ":";
  const server = `const { existsSync } = require("node:fs");
require("node:http").createServer((request, response) => {
  if (${sick} && !existsSync("${wellFile}")) response.statusCode = 503;
  response.end(${JSON.stringify(version)});
}).listen(process.env.PORT, "0.0.0.0");
process.on("SIGTERM", () => process.exit(0));
`;
  return {
    // Not from the builder's cache: the version is new to it.
    Dockerfile: `FROM node:24-bookworm-slim
RUN : ${version}; for i in $(seq 1 ${buildLines}); do echo line-$i; ${pause}; done
COPY app.js /app.js
CMD ["node", "/app.js"]
`,
    "app.js": server,
  };
}
