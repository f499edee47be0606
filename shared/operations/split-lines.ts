/**
 * Bytes of a followed log into lines, whatever the borders of the chunks. Cut at line feeds only, which no UTF-8
 * character contains. Of a progress bar that overwrites itself with carriage returns the last state stays. Memory is
 * bounded by one line's cap: the rest of a longer one is counted, not kept.
 */
export interface RawLine {
  /** UTF-8, without the line break; not more than was to be kept. */
  bytes: Uint8Array;
  /** Of this line, beyond `bytes`. */
  droppedBytes: number;
  /** In the log: where the next line begins. */
  endOffset: number;
}

export interface LineSplitter {
  /** The lines that this chunk completes. Each is valid until the next one is asked for. */
  push(chunk: Uint8Array): Generator<RawLine>;
  /** The end of the log: what stands behind the last line break, if anything does. */
  rest(): RawLine | null;
}

const lineFeed = 10;
const carriageReturn = 13;

export function createLineSplitter({
  keepBytes,
  offset,
}: {
  keepBytes: number;
  offset: number;
}): LineSplitter {
  const kept = new Uint8Array(keepBytes);
  let length = 0;
  let droppedBytes = 0;
  /** A carriage return came last: it overwrites the line, unless a line feed follows. */
  let returned = false;
  let begun = false;
  let position = offset;

  const add = (piece: Uint8Array) => {
    const room = piece.subarray(0, keepBytes - length);
    kept.set(room, length);
    length += room.length;
    droppedBytes += piece.length - room.length;
  };

  /** `piece` is of one line and holds no line feed. */
  const absorb = (piece: Uint8Array) => {
    position += piece.length;
    begun ||= piece.length > 0;
    let end = piece.length;
    while (end > 0 && piece[end - 1] === carriageReturn) {
      end--;
    }
    if (end > 0) {
      const overwritten = piece.lastIndexOf(carriageReturn, end - 1);
      if (returned || overwritten >= 0) {
        [length, droppedBytes] = [0, 0];
      }
      add(piece.subarray(overwritten + 1, end));
      returned = false;
    }
    returned ||= end < piece.length;
  };

  const finish = (): RawLine => {
    const line = { bytes: kept.subarray(0, length), droppedBytes, endOffset: position };
    [length, droppedBytes, returned, begun] = [0, 0, false, false];
    return line;
  };

  return {
    *push(chunk) {
      let start = 0;
      for (let end = chunk.indexOf(lineFeed); end >= 0; end = chunk.indexOf(lineFeed, start)) {
        absorb(chunk.subarray(start, end));
        position++;
        start = end + 1;
        yield finish();
      }
      absorb(chunk.subarray(start));
    },
    rest: () => (begun ? finish() : null),
  };
}
