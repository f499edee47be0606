/** The answers of the API as types, taken from the contract's schemas. */
import type { webhookDelivery, webhookDeliveryDetail } from "../../shared/contract/deliveries.ts";
import type { deployment } from "../../shared/contract/deployments.ts";
import type { member } from "../../shared/contract/members.ts";
import type { channel } from "../../shared/contract/notifications.ts";
import type { project } from "../../shared/contract/projects.ts";
import type { registry } from "../../shared/contract/registries.ts";
import type { server, serverCheck } from "../../shared/contract/servers.ts";

export type Channel = (typeof channel)["_output"];
export type Delivery = (typeof webhookDelivery)["_output"];
export type DeliveryDetail = (typeof webhookDeliveryDetail)["_output"];
export type Deployment = (typeof deployment)["_output"];
export type Member = (typeof member)["_output"];
export type Project = (typeof project)["_output"];
export type Registry = (typeof registry)["_output"];
export type Server = (typeof server)["_output"];
export type ServerCheck = (typeof serverCheck)["_output"];
