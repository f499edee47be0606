/** Numbers in options: what is no number is wrong usage, not NaN on its way to the API. */
import { usage } from "./failure.ts";

export function integer(value: string): number {
  if (!/^\d{1,15}$/.test(value)) throw usage(`"${value}" is not a whole number.`);
  return Number(value);
}

export function decimal(value: string): number {
  if (!/^\d{1,9}(\.\d{1,9})?$/.test(value)) throw usage(`"${value}" is not a number.`);
  return Number(value);
}
