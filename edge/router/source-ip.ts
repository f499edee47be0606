/**
 * Where a request comes from: the other end of the connection, or, when that is a trusted proxy, the right-most entry of
 * X-Forwarded-For that is none. Everything to the left of it was written by the caller. IPv6 counts by /64, since
 * every home has at least that many addresses. (decisions.md section 5)
 */
interface Address {
  bits: bigint;
  size: 32 | 128;
}

export type TrustedProxies = readonly { address: Address; prefix: number }[];

/** Throws for an entry that is neither an address nor a network: a wrong setting must not pass for "nobody". */
export function parseTrustedProxies(entries: readonly string[]): TrustedProxies {
  return entries.map((entry) => {
    const [text = "", prefixText, ...rest] = entry.split("/");
    const address = parseAddress(text);
    const prefix = prefixText === undefined ? address?.size : Number(prefixText);
    const valid = prefixText === undefined || /^\d{1,3}$/.test(prefixText);
    if (address === null || prefix === undefined || !valid || prefix > address.size || rest.length > 0) {
      throw new Error(`SLIPWAY_TRUSTED_PROXIES: \`${entry}\` is neither an address nor a network`);
    }
    return { address, prefix };
  });
}

/** The address as text: IPv4, or IPv6 as it was given. `unknown` when the host did not say. */
export function sourceIp(
  remoteAddress: string | undefined,
  forwardedFor: string | null,
  trusted: TrustedProxies,
): string {
  let source = remoteAddress ?? "unknown";
  if (forwardedFor === null) return source;
  const hops = forwardedFor.split(",").reverse();
  for (const hop of hops) {
    const address = parseAddress(source);
    if (address === null || !isTrusted(address, trusted)) return source;
    const before = withoutPort(hop.trim());
    if (parseAddress(before) === null) return source;
    source = before;
  }
  return source;
}

/** What counts as one source: an IPv4 address, or the /64 of an IPv6 address. */
export function sourceKey(ip: string): string {
  const address = parseAddress(ip);
  if (address === null) return ip;
  return address.size === 32 ? `4:${address.bits}` : `6:${address.bits >> 64n}`;
}

function isTrusted(address: Address, trusted: TrustedProxies): boolean {
  return trusted.some(({ address: network, prefix }) => {
    const shift = BigInt(address.size - prefix);
    return network.size === address.size && network.bits >> shift === address.bits >> shift;
  });
}

/** `1.2.3.4:5678` and `[::1]:5678` as some proxies write them. */
function withoutPort(text: string): string {
  const [, v6, v4] = /^\[([^\]]+)\](?::\d+)?$|^(\d+\.\d+\.\d+\.\d+):\d+$/.exec(text) ?? [];
  return v6 ?? v4 ?? text;
}

function parseAddress(text: string): Address | null {
  const v4 = parseV4(text);
  if (v4 !== null) return { bits: v4, size: 32 };
  const v6 = parseV6(text.replace(/%.*$/, ""));
  if (v6 === null) return null;
  // ::ffff:a.b.c.d is how a dual-stack socket names an IPv4 peer.
  return v6 >> 32n === 0xffffn ? { bits: v6 & 0xffffffffn, size: 32 } : { bits: v6, size: 128 };
}

function parseV4(text: string): bigint | null {
  if (!/^\d{1,3}(\.\d{1,3}){3}$/.test(text)) return null;
  const parts = text.split(".").map(Number);
  if (parts.some((part) => part > 255)) return null;
  return parts.reduce((bits, part) => (bits << 8n) | BigInt(part), 0n);
}

function parseV6(text: string): bigint | null {
  const tail = /^(.*:)(\d+\.\d+\.\d+\.\d+)$/.exec(text);
  const v4 = tail === null ? null : parseV4(tail[2] ?? "");
  if (tail !== null && v4 === null) return null;
  const plain = v4 === null ? text : `${tail?.[1]}${(v4 >> 16n).toString(16)}:${(v4 & 0xffffn).toString(16)}`;
  const halves = plain.split("::");
  if (halves.length > 2) return null;
  const [left = [], right = []] = halves.map((half) => (half === "" ? [] : half.split(":")));
  const missing = 8 - left.length - right.length;
  if (halves.length === 2 ? missing < 1 : missing !== 0) return null;
  const groups = [...left, ...Array<string>(missing).fill("0"), ...right];
  if (!groups.every((group) => /^[0-9a-f]{1,4}$/i.test(group))) return null;
  return groups.reduce((bits, group) => (bits << 16n) | BigInt(`0x${group}`), 0n);
}
