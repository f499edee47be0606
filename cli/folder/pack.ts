/** A folder as a gzip-compressed tar stream, read as it is sent: nothing is written to disk, and memory stays flat. */
import { create } from "tar";
import type { FolderFile } from "./list-files.ts";

export function pack(
  root: string,
  files: readonly FolderFile[],
  onFile: (file: FolderFile) => void,
): ReadableStream<Uint8Array> {
  const sizes = new Map(files.map((file) => [file.path, file]));
  const archive = create(
    {
      cwd: root,
      gzip: { level: 6 },
      portable: true,
      noDirRecurse: true,
      strict: true,
      onWriteEntry: (entry) => {
        const file = sizes.get(entry.path.replace(/^\.\//, ""));
        if (file !== undefined) onFile(file);
      },
    },
    // A name that begins with @ would be read as an archive to take in.
    files.map(({ path }) => `./${path}`),
  );
  return ReadableStream.from(archive);
}
