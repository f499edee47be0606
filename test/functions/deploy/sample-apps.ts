/** Small applications that answer what the tests ask for; dependency-free, so that a build needs no network. */
export type Files = Record<string, string>;

/** Without a handler node does not hear SIGTERM as the first process of a container, which then gets its 10 s. */
const endsWhenTold = 'process.on("SIGTERM", () => process.exit(0));\n';

/** Does not end when it is told to: it has to be killed. */
export function stubborn(source: string): string {
  return source.replace(endsWhenTold, "");
}

/** Answers `said`, then the value of each variable on a line of its own. */
export function serverSource(said: string, ...variables: string[]): string {
  const values = variables.map((name) => `process.env[${JSON.stringify(name)}]`).join(", ");
  return `const { createServer } = require("node:http");
createServer((request, response) => {
  if (request.url === "/sick") response.statusCode = 503;
  response.end([${JSON.stringify(said)}, ${values}].join("\\n"));
}).listen(process.env.PORT, "0.0.0.0");
${endsWhenTold}`;
}

export function dockerApp(said: string, ...variables: string[]): Files {
  return {
    Dockerfile: 'FROM node:24-bookworm-slim\nCOPY app.js /app.js\nCMD ["node", "/app.js"]\n',
    "app.js": serverSource(said, ...variables),
  };
}

export function nodeApp(said: string): Files {
  return {
    "package.json": JSON.stringify({
      name: "sample",
      version: "1.0.0",
      private: true,
      scripts: { build: "node build.js", start: "node dist/app.js" },
    }),
    "package-lock.json": JSON.stringify({
      name: "sample",
      version: "1.0.0",
      lockfileVersion: 3,
      requires: true,
      packages: { "": { name: "sample", version: "1.0.0" } },
    }),
    "build.js": `const fs = require("node:fs"); fs.mkdirSync("dist", { recursive: true });
fs.writeFileSync("dist/built-with.txt", String(process.env.BUILD_WORD));
fs.copyFileSync("app.js", "dist/app.js"); console.log("built for", process.env.NODE_ENV);`,
    "app.js": `const built = require("node:fs").readFileSync(__dirname + "/built-with.txt", "utf8");
require("node:http").createServer((request, response) => response.end(["${said}", process.getuid(), built].join("\\n"))).listen(process.env.PORT);
${endsWhenTold}`,
  };
}
