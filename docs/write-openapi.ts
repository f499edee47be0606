/** Writes docs/openapi.json anew, after a change of the contract: `npm run openapi`. */
import { readFile, writeFile } from "node:fs/promises";
import { openApiDocument } from "../shared/contract/openapi.ts";

const manifest = JSON.parse(await readFile(new URL("../package.json", import.meta.url), "utf8")) as {
  version: string;
};
const document = openApiDocument(manifest.version);
await writeFile(new URL("openapi.json", import.meta.url), `${JSON.stringify(document, null, 2)}\n`);
