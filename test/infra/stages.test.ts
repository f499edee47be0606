/** What differs between the stages: production is kept and protected, any other is cheap, below its domain, and goes. */
import { beforeAll, expect, test } from "vitest";
import { mockCloud, type Resource } from "./mocked-cloud.ts";

interface StageSettings {
  app(input: { stage: string }): { removal: string; protect: boolean };
}

let all: Resource[];
let settings: StageSettings;
beforeAll(async () => {
  all = await mockCloud("try");
  const { default: config } = await import("../../sst.config.ts");
  settings = config as unknown as StageSettings;
});

const of = (type: string) => all.filter((each) => each.type === type);

test("production alone is protected, and keeps what it made when it is removed", () => {
  expect(settings.app({ stage: "production" })).toMatchObject({ removal: "retain", protect: true });
  expect(settings.app({ stage: "try" })).toMatchObject({ removal: "remove", protect: false });
});

test("a stage has names of its own below the domain, in every part", () => {
  const definitions = of("aws:ecs/taskDefinition:TaskDefinition");
  expect(definitions).toHaveLength(3);
  for (const { inputs } of definitions) {
    const [{ environment }] = JSON.parse(inputs["containerDefinitions"]);
    expect(environment).toEqual(
      expect.arrayContaining([
        { name: "SLIPWAY_BASE_URL", value: "https://try.slipway.example.com" },
        { name: "SLIPWAY_BASE_DOMAIN", value: "apps.try.slipway.example.com" },
      ]),
    );
  }
});

test("a stage pays for no managed way out, and has a fixed address all the same", () => {
  expect(of("aws:ec2/natGateway:NatGateway")).toEqual([]);
  expect(of("aws:ec2/eip:Eip").length).toBeGreaterThan(0);
});
