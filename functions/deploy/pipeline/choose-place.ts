/** What a deployment is released with: its image, its ports. Written in the transaction that begins the release. */
import { eq } from "drizzle-orm";
import type { Transaction } from "../../../shared/db/database.ts";
import { deployments } from "../../../shared/db/deployment-tables.ts";
import type { Story } from "../story-parts.ts";
import { takeHostPort } from "./host-port.ts";
import type { Produced } from "./produce-image.ts";

/** `produced` is null for a rollback to a kept image, whose row has all of it. */
export async function choosePlace(tx: Transaction, story: Story, produced: Produced | null): Promise<void> {
  const { deployment, config } = story;
  await takeHostPort(tx, deployment);
  if (produced === null) return;
  const { imageId, containerPort, init } = produced;
  await tx
    .update(deployments)
    .set({ imageId, containerPort, config: { ...config, init } })
    .where(eq(deployments.id, deployment.id));
}
