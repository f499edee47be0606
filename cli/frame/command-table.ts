/**
 * The commands, what each is for and where it lives. Only the one that is asked for is loaded: the route schemas take
 * a quarter of a second to evaluate, and `slipway --help` needs none of them.
 */
import type { Command } from "commander";
import type { Context } from "./context.ts";

/** Adds arguments, options, examples and the action to a bare command. */
export type Define = (command: Command, context: Context) => void;

export interface CommandEntry {
  name: string;
  summary: string;
  load: () => Promise<Define>;
}

export const commandTable: readonly CommandEntry[] = [
  {
    name: "init",
    summary: "set up a new instance: organization, owner and first token",
    load: async () => (await import("../init.ts")).defineInit,
  },
  {
    name: "login",
    summary: "remember an instance and a token",
    load: async () => (await import("../login.ts")).defineLogin,
  },
  {
    name: "logout",
    summary: "forget the remembered token",
    load: async () => (await import("../logout.ts")).defineLogout,
  },
  {
    name: "status",
    summary: "instance, organization, servers and projects at a glance",
    load: async () => (await import("../status.ts")).defineStatus,
  },
  {
    name: "doctor",
    summary: "look for what is wrong with the instance, and say what to do",
    load: async () => (await import("../doctor.ts")).defineDoctor,
  },
  {
    name: "token",
    summary: "make, list and revoke access tokens",
    load: async () => (await import("../token.ts")).defineToken,
  },
  {
    name: "organization",
    summary: "rename the organization, transfer its primary ownership",
    load: async () => (await import("../organization.ts")).defineOrganization,
  },
  {
    name: "member",
    summary: "invite members, change their roles, remove them",
    load: async () => (await import("../member.ts")).defineMember,
  },
  {
    name: "server",
    summary: "add and look after servers",
    load: async () => (await import("../server.ts")).defineServer,
  },
  {
    name: "project",
    summary: "create and configure projects",
    load: async () => (await import("../project.ts")).defineProject,
  },
  {
    name: "registry",
    summary: "add and check credentials for private images",
    load: async () => (await import("../registry.ts")).defineRegistry,
  },
  {
    name: "cloud",
    summary: "link the organization to its account in the cloud",
    load: async () => (await import("../cloud.ts")).defineCloud,
  },
  {
    name: "notifications",
    summary: "what happened, and where it is told",
    load: async () => (await import("../notifications.ts")).defineNotifications,
  },
  {
    name: "deploy",
    summary: "deploy a project from its repository or an uploaded folder",
    load: async () => (await import("../deploy.ts")).defineDeploy,
  },
  {
    name: "deployments",
    summary: "list and show deployments",
    load: async () => (await import("../deployments.ts")).defineDeployments,
  },
  {
    name: "deliveries",
    summary: "what git hosts sent, why a push did not deploy, and once more",
    load: async () => (await import("../deliveries.ts")).defineDeliveries,
  },
  {
    name: "logs",
    summary: "log of a deployment",
    load: async () => (await import("../logs.ts")).defineLogs,
  },
  {
    name: "rollback",
    summary: "make an earlier version the active one again",
    load: async () => (await import("../rollback.ts")).defineRollback,
  },
  {
    name: "redeploy",
    summary: "deploy a project again",
    load: async () => (await import("../redeploy.ts")).defineRedeploy,
  },
  {
    name: "cancel",
    summary: "end a deployment that is under way",
    load: async () => (await import("../cancel.ts")).defineCancel,
  },
  {
    name: "pin",
    summary: "keep the image of a deployment",
    load: async () => (await import("../pin.ts")).definePin,
  },
  {
    name: "unpin",
    summary: "let the rollback window decide about an image again",
    load: async () => (await import("../pin.ts")).defineUnpin,
  },
];
