/** Where a request comes from, whatever its headers say (decisions.md section 5). */
import { describe, expect, test } from "vitest";
import { parseTrustedProxies, sourceIp, sourceKey } from "../../edge/router/source-ip.ts";

const trusted = parseTrustedProxies(["10.0.0.0/8", "127.0.0.1", "fd00::/8", "::1"]);

describe("the source of a request", () => {
  test.each([
    ["a peer that is no proxy is the source, whatever it says", "192.0.2.1", "1.1.1.1", "192.0.2.1"],
    ["behind a proxy it is the entry that the proxy added", "10.1.2.3", "6.6.6.6, 192.0.2.9", "192.0.2.9"],
    ["trusted proxies in a row are skipped", "10.1.2.3", "6.6.6.6, 192.0.2.9, 10.9.9.9", "192.0.2.9"],
    ["a peer given as mapped IPv6 is the same", "::ffff:10.1.2.3", "192.0.2.9", "192.0.2.9"],
    ["IPv6 proxies count too", "fd12::1", "2001:db8::5", "2001:db8::5"],
    ["an entry that is no address ends the search", "10.1.2.3", "192.0.2.9, unknown", "10.1.2.3"],
    ["an entry may carry a port", "127.0.0.1", "192.0.2.9:4711", "192.0.2.9"],
    ["also in brackets", "127.0.0.1", "[2001:db8::5]:4711", "2001:db8::5"],
    ["when all are trusted it is the left-most", "127.0.0.1", "10.0.0.9", "10.0.0.9"],
    ["empty", "127.0.0.1", "", "127.0.0.1"],
  ])("%s", (_why, peer, header, expected) => {
    expect(sourceIp(peer, header, trusted)).toBe(expected);
  });

  test("nobody is trusted unless the setting says so", () => {
    expect(sourceIp("127.0.0.1", "192.0.2.9", [])).toBe("127.0.0.1");
  });
});

describe("what counts as one source", () => {
  test("an IPv6 network of /64 is one, its neighbour another", () => {
    expect(sourceKey("2001:db8:1:2::1")).toBe(sourceKey("2001:0DB8:1:2:ffff::9"));
    expect(sourceKey("2001:db8:1:2::1")).not.toBe(sourceKey("2001:db8:1:3::1"));
  });

  test("an IPv4 address is one, mapped or not", () => {
    expect(sourceKey("192.0.2.1")).toBe(sourceKey("::ffff:192.0.2.1"));
    expect(sourceKey("192.0.2.1")).not.toBe(sourceKey("192.0.2.2"));
    expect(sourceKey("0.0.0.1")).not.toBe(sourceKey("::1"));
  });
});

test.each(["10.0.0.0/33", "10.0.0/8", "proxy", "::1/129", "10.0.0.1/", "1.2.3.4/8/8", "256.1.1.1", ""])(
  "the setting %j stops the start",
  (entry) => {
    expect(() => parseTrustedProxies([entry])).toThrow(/SLIPWAY_TRUSTED_PROXIES/);
  },
);
