/**
 * The code that whoever started the platform reads on its console: who knows it owns the instance. It lives in the
 * memory of the process only, and after a few wrong tries it is another one. Rejected: a file (it would outlive its use).
 */
import { createHash, randomInt, timingSafeEqual } from "node:crypto";
import { limits } from "../../shared/domain/limits.ts";

export interface SetUpCode {
  /** The present one, to be printed. */
  current(): string;
  /** Whether it is the present one. A wrong try counts; the last one makes a new code and announces it. */
  isRight(given: string): boolean;
}

/** Without the letters and digits that are mistaken for each other. 12 of them carry 58 bits. */
const alphabet = "ABCDEFGHJKMNPQRSTVWXYZ23456789";

export function createSetUpCode(announce: (code: string) => void): SetUpCode {
  let code = makeCode();
  let wrong = 0;
  return {
    current: () => code,
    isRight(given) {
      if (timingSafeEqual(digest(given), digest(code))) return true;
      wrong += 1;
      if (wrong >= limits.setUpTries) {
        code = makeCode();
        wrong = 0;
        announce(code);
      }
      return false;
    },
  };
}

function makeCode(): string {
  const group = () => Array.from({ length: 4 }, () => alphabet.charAt(randomInt(alphabet.length))).join("");
  return `${group()}-${group()}-${group()}`;
}

/** As a person may type it: in any case, with or without dashes. Hashed, so that the length tells nothing. */
function digest(code: string): Buffer {
  return createHash("sha256").update(code.toUpperCase().replace(/[\s-]/g, "")).digest();
}
