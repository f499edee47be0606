/**
 * Which addresses are public. Everything that a machine reaches only by where it stands is not: itself, private and
 * shared ranges, link-local ones (the cloud's metadata), multicast, and IPv6 forms that carry an IPv4 address inside
 * and so reach the same places by another spelling. Operators list exceptions (SLIPWAY_ALLOW_PRIVATE_TARGETS).
 */
import { BlockList, isIP } from "node:net";

const notPublic: readonly (readonly [string, number])[] = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10], // shared by a carrier's customers
  ["127.0.0.0", 8],
  ["169.254.0.0", 16], // link-local, metadata of clouds
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24], // documentation, as the two below
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15], // benchmarks
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 4], // multicast
  ["240.0.0.0", 4], // reserved, broadcast
  ["::", 96], // unspecified, loopback, IPv4-compatible
  ["::ffff:0:0", 96], // IPv4-mapped
  ["64:ff9b::", 96], // IPv4 through NAT64
  ["64:ff9b:1::", 48],
  ["100::", 64],
  ["2001::", 32], // Teredo carries IPv4
  ["2001:db8::", 32],
  ["2002::", 16], // 6to4 carries IPv4
  ["fc00::", 7],
  ["fe80::", 10],
  ["fec0::", 10],
  ["ff00::", 8],
];

/** The host of a URL as an address, or null where it is a name. */
export function literalAddress(hostname: string): string | null {
  const bare = hostname.replace(/^\[|\]$/g, "");
  return isIP(bare) === 0 ? null : bare;
}

/** `exceptions`: addresses and ranges (CIDR). */
export function createAddressRules(exceptions: readonly string[] = []): (address: string) => boolean {
  const blocked = rangesOf(notPublic);
  const allowed = rangesOf(
    exceptions.map((entry) => {
      const [address = "", prefix] = entry.split("/");
      return [address, prefix === undefined ? (isIP(address) === 6 ? 128 : 32) : Number(prefix)];
    }),
  );
  return (address) => allowed(address) || !blocked(address);
}

/** A list a family: in a common one the range of mapped addresses would hold every IPv4 address. */
function rangesOf(ranges: readonly (readonly [string, number])[]): (address: string) => boolean {
  const lists = { ipv4: new BlockList(), ipv6: new BlockList() };
  for (const [address, prefix] of ranges)
    lists[familyOf(address)].addSubnet(address, prefix, familyOf(address));
  return (address) => lists[familyOf(address)].check(address, familyOf(address));
}

function familyOf(address: string): "ipv4" | "ipv6" {
  return isIP(address) === 6 ? "ipv6" : "ipv4";
}
