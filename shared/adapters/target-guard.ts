/**
 * From a host that a user gave to the addresses to connect to. A name is resolved once; every address must pass, and the
 * connection goes to exactly those, so that an answer which changes between check and connection (rebinding) reaches
 * nothing. Rejected: checking the name and letting the connection resolve it again; and taking the public ones of a
 * mixed answer, which only an attacker gives.
 */
import { Resolver, lookup as systemLookup } from "node:dns/promises";
import { connect, type LookupFunction, type Socket } from "node:net";
import { OutgoingFailure } from "../ports/outgoing.ts";
import { createAddressRules, literalAddress } from "./address-rules.ts";

export interface TargetGuardOptions {
  /** False: private addresses are fine, as for what an operator reaches in the own network. */
  guarded: boolean;
  /** Addresses of DNS servers, `address` or `address:port`; empty: the system's. */
  resolvers: readonly string[];
  /** Addresses and ranges that are reached all the same. */
  exceptions: readonly string[];
}

export interface TargetGuard {
  /** Checked addresses of a host, name or literal. Throws `OutgoingFailure`. */
  resolve(host: string): Promise<string[]>;
}

const resolveMs = 3_000;

export function createTargetGuard(options: TargetGuardOptions): TargetGuard {
  const isPublic = createAddressRules(options.exceptions);
  const resolver = options.resolvers.length === 0 ? null : ownResolver(options.resolvers);
  return {
    async resolve(host) {
      const literal = literalAddress(host);
      const addresses = literal === null ? await lookUp(host, resolver) : [literal];
      const refused = options.guarded ? addresses.find((address) => !isPublic(address)) : undefined;
      if (refused === undefined) return addresses;
      const leads = literal === null ? `${host} leads to ${refused}` : `${refused} is`;
      throw new OutgoingFailure(
        "refused_target",
        `${leads}${literal === null ? "," : ""} an address that is not public. An operator can allow it (SLIPWAY_ALLOW_PRIVATE_TARGETS).`,
      );
    },
  };
}

/** For the connections of the SSH adapter: the socket goes where the guard has looked, or ends with its reason. */
export function openGuardedSocket(guard: TargetGuard): (address: { host: string; port: number }) => Socket {
  return ({ host, port }) => {
    // A name that no resolver is asked for: the checked address stands for it, also where the host is a literal one.
    const socket = connect({ host: "checked.invalid", port, noDelay: true, lookup: pinned(guard, host) });
    return socket;
  };
}

/** A `lookup` that answers only what the guard has checked. */
function pinned(guard: TargetGuard, host: string): LookupFunction {
  return (_host, options, answer) => {
    guard.resolve(host).then(
      (addresses) => {
        const all = addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
        const [first] = all;
        if (options.all === true) answer(null, all);
        else answer(null, first?.address ?? "", first?.family ?? 4);
      },
      (error: NodeJS.ErrnoException) => answer(error, "", 4),
    );
  };
}

function ownResolver(servers: readonly string[]): Resolver {
  const resolver = new Resolver({ timeout: resolveMs, tries: 2 });
  resolver.setServers([...servers]);
  return resolver;
}

async function lookUp(name: string, resolver: Resolver | null): Promise<string[]> {
  const addresses = resolver === null ? await askSystem(name) : await askOwn(name, resolver);
  if (addresses.length > 0) return addresses;
  throw new OutgoingFailure("unresolved", `The name ${name} has no address.`);
}

async function askSystem(name: string): Promise<string[]> {
  try {
    return (await systemLookup(name, { all: true })).map(({ address }) => address);
  } catch (cause) {
    throw new OutgoingFailure("unresolved", `The name ${name} could not be resolved.`, { cause });
  }
}

async function askOwn(name: string, resolver: Resolver): Promise<string[]> {
  const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
  return answers.flatMap((each) => (each.status === "fulfilled" ? each.value : []));
}
