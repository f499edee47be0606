/** Sends a folder to the instance and starts its deployment, with what happens shown meanwhile. */
import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { getDeployment } from "../shared/contract/deployments.ts";
import { buildAccess, createUploadSession, putUploadContent } from "../shared/contract/uploads.ts";
import type { Api } from "./api/connect.ts";
import type { Deployment, Project } from "./api/shapes.ts";
import { type FolderFile, listFiles } from "./folder/list-files.ts";
import { pack } from "./folder/pack.ts";
import type { Context } from "./frame/context.ts";
import { usage } from "./frame/failure.ts";

export async function uploadFolder(
  api: Api,
  context: Context,
  project: Project,
  folder: string,
): Promise<Deployment> {
  const root = resolve(folder);
  const there = await stat(root).catch(() => null);
  if (there?.isDirectory() !== true) throw usage(`${folder} is no folder.`);
  const files = await listFiles(root);
  if (files.length === 0)
    throw usage(`${folder} has no files to upload.`, "Look at .gitignore and .slipwayignore.");
  const projectId = project.id;
  const { data: session } = await api.call(createUploadSession, { json: { projectId, mode: "local" } });
  const { uploadSessionId } = session;
  const { output } = context;
  output.note(`Uploading ${root}: ${amount(files)}`);
  const body = pack(root, files, progress(files, context));
  const sent = await api.call(putUploadContent, { params: { id: uploadSessionId }, body });
  output.note(`Uploaded ${megabytes(sent.data.bytes)} compressed`);
  const started = await api.call(buildAccess, { json: { projectId, uploadSessionId } });
  return (await api.call(getDeployment, { params: { id: started.deployment_id } })).data;
}

const sayEveryMs = 2_000;

/** A line now and then for those who wait. */
function progress(files: readonly FolderFile[], { output, now }: Context): (file: FolderFile) => void {
  const all = files.reduce((sum, { bytes }) => sum + bytes, 0);
  let saidMs = now();
  let count = 0;
  let bytes = 0;
  return (file) => {
    count++;
    bytes += file.bytes;
    if (now() - saidMs < sayEveryMs) return;
    saidMs = now();
    output.note(`  ${count} of ${files.length} files, ${megabytes(bytes)} of ${megabytes(all)}`);
  };
}

function amount(files: readonly FolderFile[]): string {
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  return `${files.length} ${files.length === 1 ? "file" : "files"}, ${megabytes(bytes)}`;
}

function megabytes(bytes: number): string {
  return bytes < 1_000_000 ? `${Math.ceil(bytes / 1_000)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}
